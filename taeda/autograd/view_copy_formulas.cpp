// Derivative helpers of copies with a part replaced.
#include "taeda/autograd/view_copy_formulas.h"

#include "taeda/autograd/view_formulas.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

Tensor laid_out(const Tensor& grad, IntList sizes, IntList strides, int64_t offset) {
  const Tensor memory = grad.new_zeros({storage_reach(as_symint(sizes), as_symint(strides), offset)});
  Tensor out = memory.as_strided(as_symint(sizes), as_symint(strides), SymInt(offset));
  out.copy_(grad);
  return out;
}

}  // namespace taeda::autograd
