// Holds the trace handler.
#include "taeda/base/trace.h"

namespace taeda {

namespace trace_detail {
std::atomic<bool> is_on{false};
}

namespace {
TraceHandler handler = nullptr;
void* handler_context = nullptr;
}  // namespace

void set_trace_handler(TraceHandler h, void* context) {
  handler = h;
  handler_context = context;
  trace_detail::is_on.store(h != nullptr);
}

void emit_trace(const TraceEvent& event) {
  if (handler) handler(event, handler_context);
}

}  // namespace taeda
