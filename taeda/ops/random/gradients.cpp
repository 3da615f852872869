// Derivative helpers of random numbers.
#include "taeda/ops/random/gradients.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor zeros_of(const Tensor& grad, SymIntList sizes) {
  return taeda::zeros(sizes, grad.dtype(), {}, grad.device());
}

}  // namespace taeda::gradients
