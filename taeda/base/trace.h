// Trace events: a hook that sees each operator call begin and end; one relaxed load when nobody
// listens.
#pragma once

#include <atomic>
#include <cstdint>

#include "taeda/base/export.h"

namespace taeda {

struct TraceEvent {
  enum class Phase : uint8_t { Begin, End };
  Phase phase;
  const char* category;  // "op", "kernel", "memory"
  const char* name;
  const char* detail;  // overload or key, may be null
};

using TraceHandler = void (*)(const TraceEvent& event, void* context);

namespace trace_detail {
extern TAEDA_API std::atomic<bool> is_on;
}

inline bool is_tracing() {
  return __builtin_expect(trace_detail::is_on.load(std::memory_order_relaxed), 0);
}
// At most one handler; null switches tracing off. Set it while no operator runs on another thread.
TAEDA_API void set_trace_handler(TraceHandler handler, void* context);
TAEDA_API void emit_trace(const TraceEvent& event);

// Emits Begin now and End at scope exit when tracing is on.
class TraceScope {
 public:
  TraceScope(const char* category, const char* name, const char* detail)
      : category_(category), name_(name), detail_(detail) {
    emit_trace({TraceEvent::Phase::Begin, category_, name_, detail_});
  }
  ~TraceScope() { emit_trace({TraceEvent::Phase::End, category_, name_, detail_}); }
  TraceScope(const TraceScope&) = delete;

 private:
  const char *category_, *name_, *detail_;
};

}  // namespace taeda
