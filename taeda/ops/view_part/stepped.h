// Strides of views that take every n-th element.
#pragma once

#include "taeda/core/symint.h"

namespace taeda {

// The stride of every step-th element. Where it is no number, the step leads out of the tensor, and
// the one element left has any.
TAEDA_API SymInt stepped(const SymInt& stride, const SymInt& step);

}  // namespace taeda
