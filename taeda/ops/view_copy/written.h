// Out forms of views followed by a copy.
#pragma once

#include "taeda/ops/made_apart.h"
#include "taeda/ops/spec.h"

namespace taeda {

// Copies a view of `self` into `out`, which gets its sizes.
inline Tensor& written(Tensor& out, const Tensor& self, Tensor view) {
  if (is_made_apart(out, self)) view = view.clone();
  OutSpec(view.sym_sizes(), view.dtype(), view.device()).prepare_out(out, "copy");
  return out.copy_(view);
}

}  // namespace taeda
