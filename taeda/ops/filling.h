// In-place operators that may write one value to the repeated elements of an expanded tensor.
#pragma once

#include "taeda/base/function_ref.h"
#include "taeda/dispatch/operator.h"

namespace taeda {

// Those whose records say `fills_repeats`: they write their argument `value`, or zeros where there
// is none. An element is written if one of those in its place is.
TAEDA_API void for_each_filling_operator(FunctionRef<void(dispatch::Operator&)> visit);
// The same of one operator. Any thread.
TAEDA_API bool fills_repeats(const dispatch::Operator& op);

}  // namespace taeda
