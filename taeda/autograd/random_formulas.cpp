// Derivative helpers of random numbers.
#include "taeda/autograd/random_formulas.h"

#include "taeda/ops/functions.h"

namespace taeda::autograd {

Tensor zeros_of(const Tensor& grad, SymIntList sizes) {
  return taeda::zeros(sizes, grad.dtype(), {}, grad.device());
}

}  // namespace taeda::autograd
