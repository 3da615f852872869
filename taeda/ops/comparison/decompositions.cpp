// Tests and bit operations outside the core set as functions of core operators.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"

namespace taeda {

TAEDA_DECOMPOSITION(isfinite, (const Tensor& self)) {
  return taeda::logical_not(taeda::logical_or(taeda::isnan(self), taeda::isinf(self)));
}

TAEDA_DECOMPOSITION(bitwise_and_Scalar_Tensor, (const Scalar& self, const Tensor& other)) {
  return taeda::bitwise_and(other, self);
}
TAEDA_DECOMPOSITION(bitwise_or_Scalar_Tensor, (const Scalar& self, const Tensor& other)) {
  return taeda::bitwise_or(other, self);
}
TAEDA_DECOMPOSITION(bitwise_xor_Scalar_Tensor, (const Scalar& self, const Tensor& other)) {
  return taeda::bitwise_xor(other, self);
}

}  // namespace taeda
