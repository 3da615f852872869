// Derivative helpers of complex numbers made of parts.
#include "taeda/ops/complex_view/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {

Tensor real_part_to(const Tensor& grad, SymIntList sizes) {
  return sum_to(taeda::real(grad), sizes);
}
Tensor imag_part_to(const Tensor& grad, SymIntList sizes) {
  return sum_to(taeda::imag(grad), sizes);
}

}  // namespace taeda::gradients
