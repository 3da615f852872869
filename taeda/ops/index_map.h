// Maps of places that lowerings share.
#pragma once

#include "taeda/ops/lowering.h"

namespace taeda {

// The place in a tensor that was expanded to `from`.
TAEDA_API kernel::Place broadcast_place(symbolic::ExprPool& pool, const kernel::Place& from,
                                        const kernel::Place& to, const kernel::Place& at);
// The place in sizes `to` of the element at `at` of as many elements in sizes `from`. Dimensions
// that hold the same elements on both sides are matched first, so quotients and remainders are left
// only where a dimension is really split.
TAEDA_API kernel::Place reshaped_place(symbolic::ExprPool& pool, const kernel::Place& from,
                                       const kernel::Place& to, const kernel::Place& at);

namespace lowering {
// Every element of a result is one number; a symbolic one is an integer that sizes tell.
TAEDA_API void filled(const Tensor& out, const Scalar& value);
}  // namespace lowering

}  // namespace taeda
