// Derivative helpers of complex numbers made of parts.
#include "taeda/autograd/complex_view_formulas.h"

#include "taeda/autograd/formulas.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

Tensor real_part_to(const Tensor& grad, SymIntList sizes) {
  return sum_to(taeda::real(grad), sizes);
}
Tensor imag_part_to(const Tensor& grad, SymIntList sizes) {
  return sum_to(taeda::imag(grad), sizes);
}

}  // namespace taeda::autograd
