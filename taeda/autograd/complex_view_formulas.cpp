// Derivative helpers of complex numbers made of parts.
#include "taeda/autograd/complex_view_formulas.h"

#include "taeda/autograd/formulas.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

Tensor real_part_to(const Tensor& grad, IntList sizes) {
  return sum_to(taeda::real(grad), as_symint(sizes));
}
Tensor imag_part_to(const Tensor& grad, IntList sizes) {
  return sum_to(taeda::imag(grad), as_symint(sizes));
}

}  // namespace taeda::autograd
