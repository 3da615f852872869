// Squares, which are powers.
#include "taeda/ops/functions.h"
#include "taeda/ops/math/declarations.h"

namespace taeda::impl {

Tensor square(const Tensor& self) { return taeda::pow(self, Scalar(2)); }
Tensor& square_(Tensor& self) { return taeda::pow_(self, Scalar(2)); }
Tensor& square_out(const Tensor& self, Tensor& out) { return taeda::pow_out(out, self, Scalar(2)); }

}  // namespace taeda::impl
