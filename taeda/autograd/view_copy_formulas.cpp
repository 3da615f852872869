// Derivative helpers of copies with a part replaced.
#include "taeda/autograd/view_copy_formulas.h"

#include "taeda/autograd/view_formulas.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

Tensor laid_out(const Tensor& grad, SymIntList sizes, SymIntList strides, const SymInt& offset) {
  const Tensor memory = grad.new_zeros({storage_reach(sizes, strides, offset)});
  Tensor out = memory.as_strided(sizes, strides, offset);
  out.copy_(grad);
  return out;
}

}  // namespace taeda::autograd
