// Shapes of frexp, and operators composed of others: powers in float64, angles.
#include "taeda/ops/float_math/declarations.h"

#include "taeda/ops/float_math/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/kernel_name.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {

Tensor positive(const Tensor& self) {
  TAEDA_CHECK(self.dtype() != DType::Bool, "The `+` operator, on a bool tensor is not supported.");
  return self;
}

std::array<OutSpec, 2> frexp_Tensor_spec(const Tensor& self) {
  TAEDA_CHECK(is_floating(self.dtype()), "torch.frexp() only supports floating-point dtypes");
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_float8(self.dtype()), "\"", kernel_name("frexp", self.device()),
                              "\" not implemented for '", self.dtype(), "'");
  OutSpec mantissa(self.sym_sizes(), self.dtype(), self.device()),
      exponent(self.sym_sizes(), DType::Int32, self.device());
  mantissa.strides = exponent.strides = strides_like(self, MemoryFormat::Preserve);
  return {mantissa, exponent};
}

namespace {

// Integer exponents take the dtype of the numbers they scale.
Tensor power_of_two(const Tensor& self, const Tensor& other) {
  const Tensor* const inputs[] = {&self, &other};
  const DType common = result_type(inputs);
  const bool is_whole = is_integral(other.dtype(), true) && !is_integral(common, true);
  return taeda::pow(Scalar(2.0), is_whole ? other.to(common) : other);
}

}  // namespace

Tensor ldexp_Tensor(const Tensor& self, const Tensor& other) {
  return taeda::mul(self, power_of_two(self, other));
}
Tensor& ldexp_(Tensor& self, const Tensor& other) { return self.mul_(power_of_two(self, other)); }
Tensor& ldexp_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return taeda::mul_out(out, self, power_of_two(self, other));
}

// ---- powers in float64 ----
namespace {

DType power_dtype(bool has_complex) { return has_complex ? DType::ComplexDouble : DType::Double; }
DType power_dtype(const Tensor& self, const Tensor& exponent) {
  return power_dtype(self.is_complex() || exponent.is_complex());
}
DType power_dtype(const Tensor& t, const Scalar& number) {
  return power_dtype(t.is_complex() || number.is_complex());
}
void check_base(const Tensor& self, DType dtype) {
  TAEDA_CHECK(self.dtype() == dtype, "the base given to float_power_ has dtype ", self.dtype(),
              " but the operation's result requires dtype ", dtype);
}
void check_power_out(const Tensor& out, DType dtype) {
  TAEDA_CHECK(out.dtype() == dtype, "the output given to float_power has dtype ", out.dtype(),
              " but the operation's result requires dtype ", dtype);
}

}  // namespace

Tensor float_power_Tensor_Tensor(const Tensor& self, const Tensor& exponent) {
  const DType dtype = power_dtype(self, exponent);
  return taeda::pow(self.to(dtype), exponent.to(dtype));
}
Tensor& float_power__Tensor(Tensor& self, const Tensor& exponent) {
  const DType dtype = power_dtype(self, exponent);
  check_base(self, dtype);
  return self.pow_(exponent.to(dtype));
}
Tensor& float_power_Tensor_Tensor_out(const Tensor& self, const Tensor& exponent, Tensor& out) {
  const DType dtype = power_dtype(self, exponent);
  check_power_out(out, dtype);
  return taeda::pow_out(out, self.to(dtype), exponent.to(dtype));
}
Tensor float_power_Tensor_Scalar(const Tensor& self, const Scalar& exponent) {
  return taeda::pow(self.to(power_dtype(self, exponent)), exponent);
}
Tensor& float_power__Scalar(Tensor& self, const Scalar& exponent) {
  check_base(self, power_dtype(self, exponent));
  return self.pow_(exponent);
}
Tensor& float_power_Tensor_Scalar_out(const Tensor& self, const Scalar& exponent, Tensor& out) {
  const DType dtype = power_dtype(self, exponent);
  check_power_out(out, dtype);
  return taeda::pow_out(out, self.to(dtype), exponent);
}
Tensor float_power_Scalar(const Scalar& self, const Tensor& exponent) {
  // As PyTorch's, the result is contiguous.
  return taeda::pow(self, exponent.to(power_dtype(exponent, self)).contiguous());
}
Tensor& float_power_Scalar_out(const Scalar& self, const Tensor& exponent, Tensor& out) {
  const DType dtype = power_dtype(exponent, self);
  check_power_out(out, dtype);
  return taeda::pow_out(out, self, exponent.to(dtype));
}

// ---- complex numbers ----

// A negative zero counts as zero. As PyTorch's, the angles of complex numbers are contiguous.
Tensor angle(const Tensor& self) {
  if (self.is_complex()) return taeda::atan2(taeda::imag(self), taeda::real(self)).contiguous();
  return taeda::atan2(wrapped_scalar(Scalar(0.0)), self.add(Scalar(0.0)));
}
Tensor& angle_out(const Tensor& self, Tensor& out) {
  if (self.is_complex()) return taeda::atan2_out(out, taeda::imag(self), taeda::real(self));
  return taeda::atan2_out(out, wrapped_scalar(Scalar(0.0)), self.add(Scalar(0.0)));
}

Tensor isreal(const Tensor& self) {
  if (!self.is_complex()) return taeda::ones_like(self, DType::Bool);
  return taeda::imag(self).eq(Scalar(0));
}

namespace {

void check_polar(const Tensor& abs, const Tensor& angle) {
  const auto is_taken = [](DType t) {
    return t == DType::Float || t == DType::Double || t == DType::Half;
  };
  TAEDA_CHECK(is_taken(abs.dtype()) && is_taken(angle.dtype()),
              "Expected both inputs to be Half, Float or Double tensors but got ", abs.dtype(),
              " and ", angle.dtype());
  TAEDA_CHECK(abs.dtype() == angle.dtype(), "Expected object of scalar type ", abs.dtype(),
              " but got scalar type ", angle.dtype(), " for second argument");
}

}  // namespace

Tensor polar(const Tensor& abs, const Tensor& angle) {
  check_polar(abs, angle);
  return taeda::complex(abs * angle.cos(), abs * angle.sin());
}
Tensor& polar_out(const Tensor& abs, const Tensor& angle, Tensor& out) {
  check_polar(abs, angle);
  return taeda::complex_out(out, abs * angle.cos(), abs * angle.sin());
}

}  // namespace taeda::impl
