// Holds the trace handler.
#include "taeda/base/trace.h"

namespace taeda {

namespace trace_detail {
std::atomic<bool> is_on{false};
}

namespace {
TraceHandler trace_handler = nullptr;
void* trace_context = nullptr;
}  // namespace

void set_trace_handler(TraceHandler h, void* context) {
  trace_handler = h;
  trace_context = context;
  trace_detail::is_on.store(h != nullptr);
}

void emit_trace(const TraceEvent& event) {
  if (trace_handler) trace_handler(event, trace_context);
}

}  // namespace taeda
