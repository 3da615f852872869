// Operators whose calls do more than give results, as programs say: they log, send or count.
#pragma once

#include "taeda/base/export.h"
#include "taeda/fx/node.h"

namespace taeda::fx {

// Whether calls of the operator stay in graphs although nobody uses their results. Any thread.
TAEDA_API void set_effectful(const dispatch::Operator& op, bool on);
TAEDA_API bool is_effectful(const dispatch::Operator& op);

// Whether the node draws random numbers. Calls whose functions draw are not: draws(RegionValue) of
// control_flow/random_state.h says that of them.
inline bool draws(const Node& node) {
  const dispatch::Operator* op = node.target().op();
  return op && op->has(dispatch::Tag::NondeterministicSeeded);
}

}  // namespace taeda::fx
