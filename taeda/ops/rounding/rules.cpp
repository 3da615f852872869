// Signs of real and complex numbers under one name.
#include "taeda/ops/functions.h"
#include "taeda/ops/rounding/declarations.h"

namespace taeda::impl {

Tensor sgn(const Tensor& self) { return self.is_complex() ? taeda::_sgn(self) : taeda::sign(self); }
Tensor& sgn_(Tensor& self) { return self.is_complex() ? taeda::_sgn_(self) : taeda::sign_(self); }
Tensor& sgn_out(const Tensor& self, Tensor& out) {
  return self.is_complex() ? taeda::_sgn_out(out, self) : taeda::sign_out(out, self);
}

}  // namespace taeda::impl
