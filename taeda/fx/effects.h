// Operators whose calls do more than give results, as programs say: they log, send or count.
#pragma once

#include "taeda/base/export.h"
#include "taeda/dispatch/operator.h"

namespace taeda::fx {

// Whether calls of the operator stay in graphs although nobody uses their results. Any thread.
TAEDA_API void set_effectful(const dispatch::Operator& op, bool on);
TAEDA_API bool is_effectful(const dispatch::Operator& op);

}  // namespace taeda::fx
