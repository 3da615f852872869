// Derivatives of the normal distribution's functions.
#include "taeda/ops/error_functions/gradients.h"

#include "taeda/ops/error_functions/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::gradients {
namespace {

constexpr double kRootHalf = 0.70710678118654752440;   // sqrt(1 / 2)
constexpr double kRootTwoPi = 2.50662827463100050242;  // sqrt(2 pi)

}  // namespace

// The density over the cumulative function, of which erfcx has the common factor left out.
Tensor log_ndtr_backward(const Tensor& grad, const Tensor& self) {
  return grad / taeda::special_erfcx(self * Scalar(-kRootHalf)) * Scalar(2 / kRootTwoPi);
}

Tensor ndtri_backward(const Tensor& grad, const Tensor& result) {
  return grad * (result * result * Scalar(0.5)).exp() * Scalar(kRootTwoPi);
}

}  // namespace taeda::gradients
