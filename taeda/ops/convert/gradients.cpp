// Derivative helpers of copies and conversions.
#include "taeda/ops/convert/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {

Tensor copy_backward(const Tensor& grad, SymIntList sizes, DType dtype, Device device) {
  Tensor out = cast_gradient(sum_to(grad, sizes), dtype);
  return out.device() == device ? out : out.to(device);
}

}  // namespace taeda::gradients
