// Bessel and Airy functions: the results of one tensor.
#include "taeda/ops/special_math/rules.h"
#include "taeda/ops/bessel/declarations.h"

namespace taeda::impl {

OutSpec special_airy_ai_spec(const Tensor& x) { return full_float_spec("airy_ai", x, x); }
OutSpec special_bessel_j0_spec(const Tensor& self) {
  return full_float_spec("bessel_j0", self, self);
}
OutSpec special_bessel_j1_spec(const Tensor& self) {
  return full_float_spec("bessel_j1", self, self);
}
OutSpec special_bessel_y0_spec(const Tensor& self) {
  return full_float_spec("bessel_y0", self, self);
}
OutSpec special_bessel_y1_spec(const Tensor& self) {
  return full_float_spec("bessel_y1", self, self);
}
OutSpec special_modified_bessel_i0_spec(const Tensor& self) {
  return full_float_spec("modified_bessel_i0", self, self);
}
OutSpec special_modified_bessel_i1_spec(const Tensor& self) {
  return full_float_spec("modified_bessel_i1", self, self);
}
OutSpec special_modified_bessel_k0_spec(const Tensor& self) {
  return full_float_spec("modified_bessel_k0", self, self);
}
OutSpec special_modified_bessel_k1_spec(const Tensor& self) {
  return full_float_spec("modified_bessel_k1", self, self);
}
OutSpec special_scaled_modified_bessel_k0_spec(const Tensor& x) {
  return full_float_spec("scaled_modified_bessel_k0", x, x);
}
OutSpec special_scaled_modified_bessel_k1_spec(const Tensor& x) {
  return full_float_spec("scaled_modified_bessel_k1", x, x);
}
OutSpec special_spherical_bessel_j0_spec(const Tensor& x) {
  return full_float_spec("spherical_bessel_j0", x, x);
}

}  // namespace taeda::impl
