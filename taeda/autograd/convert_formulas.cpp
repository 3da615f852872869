// Derivative helpers of copies and conversions.
#include "taeda/autograd/convert_formulas.h"

#include "taeda/autograd/formulas.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

Tensor copy_backward(const Tensor& grad, SymIntList sizes, DType dtype, Device device) {
  Tensor out = cast_gradient(sum_to(grad, sizes), dtype);
  return out.device() == device ? out : out.to(device);
}

}  // namespace taeda::autograd
