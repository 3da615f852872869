// How autograd knows a tensor of a traced program: what its copy outside of the trace must be, too.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::fx {

// Whether gradients go into the tensor, as far as it tells without following writes to its base
// where that is forbidden.
bool has_gradient(const Tensor& t);
// A view that was made without recording requires gradients with its base, and has none. Others
// have that of a base which was written to since.
bool is_unrecorded(const Tensor& t);
// A recorded view of such a one has gradients, and they end there: the base gets none of them.
bool is_cut(const Tensor& t);
// A view that a custom function gave, or whose gradient passes such a function, or a hook of the
// program, on its way to the base.
bool has_own_gradient(const Tensor& t);
// A view made before the last write to its memory: it follows what becomes of its base's history.
bool is_older_than_writes(const Tensor& t);
// Whether writes to both are counted together.
bool count_writes_together(const Tensor& a, const Tensor& b);

}  // namespace taeda::fx
