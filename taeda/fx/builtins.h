// Built-in functions: calls in closed graphs that are no operators, on numbers, lists and sizes.
#pragma once

#include <string_view>

#include "taeda/base/span.h"
#include "taeda/dispatch/value.h"

namespace taeda::fx {

using dispatch::Value;

// Named as in Python's operator and math modules, with the same meaning.
struct Builtin {
  const char* name;
  Value (*run)(Span<Value> args);
  bool is_impure = false;
  // It sets a mode of the thread: no call of a closed graph, see mode_calls.h.
  bool sets_mode = false;
};

// Calls it; on symbolic numbers it computes expressions and asks nothing of them.
TAEDA_API Value call_builtin(const Builtin& function, Span<Value> args);

// Null when there is none of that name.
TAEDA_API const Builtin* find_builtin(std::string_view name);
TAEDA_API const Builtin& get_builtin(std::string_view name);
// Those on numbers and lists; regions.h has the scopes, mode_calls.h the calls that set modes,
// epilogue_calls.h those of epilogues.
TAEDA_API Span<Builtin> all_builtins();

}  // namespace taeda::fx
