// Comparisons of whole tensors.
#include "taeda/ops/checks.h"
#include "taeda/ops/comparison/declarations.h"
#include "taeda/ops/functions.h"

namespace taeda::impl {

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  TAEDA_CHECK(self.dtype() == other.dtype(), self.dtype(), " did not match ", other.dtype());
  TAEDA_CHECK(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  TAEDA_CHECK(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = self.eq(other);
  if (equal_nan && !is_integral(self.dtype(), true))
    close = close.logical_or(self.isnan().logical_and(other.isnan()));
  if (rtol == 0 && atol == 0) return close;
  // Integers are compared as floats; differences of truth values need them too.
  const Tensor a = self.dtype() == DType::Bool ? self.to(default_dtype()) : self;
  const Tensor b = is_integral(self.dtype(), true) ? other.to(default_dtype()) : other;
  const Tensor allowed = (b * Scalar(rtol)).abs() + Scalar(atol);
  const Tensor actual = (a - b).abs();
  return close.logical_or(actual.isfinite().logical_and(actual.le(allowed)));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  const Tensor close = taeda::isclose(self, other, rtol, atol, equal_nan);
  return taeda::_local_scalar_dense(close.all()).to_bool();
}

bool equal(const Tensor& self, const Tensor& other) {
  TAEDA_CHECK(self.device() == other.device(),
              "Cannot compare two tensors on different devices. Got: ", self.device(), " and ",
              other.device());
  if (self.sym_sizes() != other.sym_sizes()) return false;
  TAEDA_CHECK_NOT_IMPLEMENTED(!self.is_meta(), "equal is not supported on meta tensors");
  return taeda::_local_scalar_dense(self.eq(other).all()).to_bool();
}

}  // namespace taeda::impl
