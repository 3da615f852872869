// Argument checks named in the records, with PyTorch's phrases.
#include "taeda/ops/checks.h"

#include "taeda/ops/cpp_name.h"
#include "taeda/ops/number_range.h"
#include "taeda/ops/shape.h"

namespace taeda {

void check_full_float(const char* op, Span<const Tensor*> operands) {
  const DType common = result_type(operands);
  const bool is_taken =
      is_integral(common, true) || common == DType::Float || common == DType::Double;
  TAEDA_CHECK_NOT_IMPLEMENTED(is_taken, "\"", op, "_cpu\" not implemented for '", common, "'");
}

void check_alpha(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (alpha.is_integral()) return;
  const Tensor* const inputs[] = {&self, &other};
  const DType common = result_type(inputs);
  TAEDA_CHECK(!alpha.is_bool() || common == DType::Bool,
              "Boolean alpha only supported for Boolean results.");
  TAEDA_CHECK(!alpha.is_floating() || is_floating(common) || is_complex(common),
              "For integral input tensors, argument alpha must not be a floating point number.");
  TAEDA_CHECK(!alpha.is_complex() || is_complex(common),
              "For non-complex input tensors, argument alpha must not be a complex number.");
}

void check_sub(const Tensor& self, const Tensor& other) {
  TAEDA_CHECK(self.dtype() != DType::Bool || other.dtype() != DType::Bool,
              "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
              "or `logical_xor()` "
              "operator instead.");
  TAEDA_CHECK(self.dtype() != DType::Bool && other.dtype() != DType::Bool,
              "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
              "trying to invert a mask, "
              "use the `~` or `logical_not()` operator instead.");
}

void check_clamp_dtype(const Tensor& self) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "clamp is not supported for complex types");
}

void check_no_complex(const char* op, const Tensor& self) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!self.is_complex(), op, " is not supported for complex inputs");
}

void check_neg(const Tensor& self) {
  TAEDA_CHECK(self.dtype() != DType::Bool,
              "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
              "invert a mask, use "
              "the `~` or `logical_not()` operator instead.");
}

void check_abs_inplace(const Tensor& self) {
  TAEDA_CHECK(!self.is_complex(), "In-place abs is not supported for complex tensors.");
}

void check_addcdiv(const Tensor& tensor1, const Tensor& tensor2) {
  TAEDA_CHECK(!is_integral(tensor1.dtype(), true) || !is_integral(tensor2.dtype(), true),
              "Integer division with addcdiv is no longer supported, and in a future  release "
              "addcdiv will perform a true "
              "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented "
              "as (input + value * "
              "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + "
              "value * tensor1 / "
              "tensor2) for float inputs. The future addcdiv behavior is just the latter "
              "implementation: (input + value * "
              "tensor1 / tensor2), for all dtypes.");
}

void check_lerp(const Tensor& self, const Tensor& other, const char* name) {
  TAEDA_CHECK(self.dtype() == other.dtype(), "expected dtype ", cpp_name(self.dtype()), " for `",
              name, "` but got dtype ", cpp_name(other.dtype()));
}

void check_ordered(const char* op, const Tensor& self, const Tensor& other) {
  TAEDA_CHECK(!self.is_complex() && !other.is_complex(), op,
              " not implemented for complex tensors.");
}

void check_clamp(bool has_min, bool has_max) {
  TAEDA_CHECK(has_min || has_max, "torch.clamp: At least one of 'min' or 'max' must not be None");
}

void check_mask(const Tensor& mask) {
  TAEDA_CHECK(mask.dtype() == DType::Bool,
              "masked_fill_ only supports boolean masks, but got mask with dtype ",
              cpp_name(mask.dtype()));
}

void check_fill_value(const Tensor& self, const Tensor& value) {
  TAEDA_CHECK(value.dim() == 0,
              "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  TAEDA_CHECK(!value.is_complex() || self.is_complex(), "value cannot be converted to type ",
              is_floating(self.dtype()) ? "float" : "int64_t", " without overflow");
}

void check_sign(const Tensor& self) {
  TAEDA_CHECK_NOT_IMPLEMENTED(
      !self.is_complex(),
      "Unlike NumPy, torch.sign is not intended to support complex numbers. "
      "Please use torch.sgn instead.");
}

void check_relu(const Tensor& self) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "clamp is not supported for complex types");
  TAEDA_CHECK(self.dtype() != DType::Bool, "Boolean inputs not supported for relu");
}

void check_hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  TAEDA_CHECK_VALUE(!(min_val.to_double() > max_val.to_double()),
                    "min_val cannot be greater than max_val");
  TAEDA_CHECK(self.dtype() != DType::Bool, "Bool inputs not supported for hardtanh");
  if (self.dtype() != DType::UInt8) return;
  TAEDA_CHECK(min_val.to_double() >= 0 && max_val.to_double() >= 0,
              "cannot do hardtanh on an unsigned type with negative limits");
}

void check_softshrink(const Tensor& self, const Scalar& lambd) {
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(self.dtype()) && !is_float8(self.dtype()),
                              "\"softshrink_check\" not implemented for '", self.dtype(), "'");
  const double most = largest_finite(self.dtype()), given = lambd.to_double();
  TAEDA_CHECK(given >= 0 && given <= most, "lambda must be in range [0, ", most,
              "] for input dtype ", self.dtype(), ", but found ", given);
}

void check_integer_power(const Tensor& self, const Scalar& exponent) {
  const auto is_negative = [&] {
    if (!exponent.is_symbolic()) return exponent.to_int() < 0;
    return SymInt(IntrusivePtr<SymNode>::share(exponent.node())) < SymInt(0);
  };
  TAEDA_CHECK(!is_integral(self.dtype(), true) || !exponent.is_integral() || !is_negative(),
              "Integers to negative integer powers are not allowed.");
  if (is_integral(self.dtype()) && exponent.is_integral()) check_fits(exponent, self.dtype());
}

}  // namespace taeda
