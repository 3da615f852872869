// Derivative helpers of random numbers.
#include "taeda/autograd/random_formulas.h"

#include "taeda/ops/functions.h"

namespace taeda::autograd {

Tensor zeros_of(const Tensor& grad, IntList sizes) {
  return taeda::zeros(as_symint(sizes), grad.dtype(), {}, grad.device());
}

}  // namespace taeda::autograd
