// Derivative helpers of copies with a part replaced.
#include "taeda/ops/view_copy/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/view/gradients.h"

namespace taeda::gradients {

Tensor laid_out(const Tensor& grad, SymIntList sizes, SymIntList strides, const SymInt& offset) {
  const Tensor memory = grad.new_zeros({storage_reach(sizes, strides, offset)});
  Tensor out = memory.as_strided(sizes, strides, offset);
  out.copy_(grad);
  return out;
}

}  // namespace taeda::gradients
