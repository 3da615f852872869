// Operands, uniforms and choices of a body that pointwise records name.
#pragma once

#include <optional>
#include <string_view>

#include "taeda/core/tensor.h"

namespace taeda {

// A limit of clamp as an operand; a missing one becomes the end of the range in which self is
// compared with the other limit.
TAEDA_API Tensor bound_operand(const Tensor& self, const std::optional<Scalar>& bound,
                               const std::optional<Scalar>& other, bool is_lower);
TAEDA_API Tensor bound_operand(const Tensor& self, const Tensor& bound, const Tensor& other,
                               bool is_lower);
// The replacement by nan_to_num of NaN (sign 0) and of the infinities: the given number, or zero
// and the dtype's ends.
TAEDA_API Scalar replacement(const Tensor& self, std::optional<double> given, int sign);
// A number as it is stored in self; RuntimeError when it cannot be.
TAEDA_API Scalar fill_number(const Tensor& self, const Scalar& value);
// The value that fills parts of self: an element of self is copied, since it may be written before
// it was read everywhere.
TAEDA_API Tensor fill_operand(const Tensor& self, const Tensor& value);
TAEDA_API Scalar power_of_ten(int64_t decimals);
// The digits that a number of a floating-point dtype has.
TAEDA_API Scalar significand_bits(DType dtype);

// 0: any exponent, 1: two, 2: three. A symbol may be any.
inline int power_body(const Scalar& exponent) {
  if (exponent.is_symbolic()) return 0;
  return exponent.equals(2) ? 1 : exponent.equals(3) ? 2 : 0;
}
// 0: 'none', 1: 'tanh'.
TAEDA_API int gelu_body(std::string_view approximate);

}  // namespace taeda
