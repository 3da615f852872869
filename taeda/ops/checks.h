// Argument checks that records name beside the rules every operator of a family obeys.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

TAEDA_API void check_alpha(const Tensor& self, const Tensor& other, const Scalar& alpha);
TAEDA_API void check_sub(const Tensor& self, const Tensor& other);
TAEDA_API void check_neg(const Tensor& self);
TAEDA_API void check_clamp_dtype(const Tensor& self);
TAEDA_API void check_no_complex(const char* op, const Tensor& self);
TAEDA_API void check_abs_inplace(const Tensor& self);
TAEDA_API void check_addcdiv(const Tensor& tensor1, const Tensor& tensor2);
TAEDA_API void check_lerp(const Tensor& self, const Tensor& other, const char* name = "end");
TAEDA_API void check_ordered(const char* op, const Tensor& self, const Tensor& other);
TAEDA_API void check_clamp(bool has_min, bool has_max);
TAEDA_API void check_mask(const Tensor& mask);
TAEDA_API void check_fill_value(const Tensor& self, const Tensor& value);
TAEDA_API void check_sign(const Tensor& self);
TAEDA_API void check_relu(const Tensor& self);
TAEDA_API void check_hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val);
TAEDA_API void check_softshrink(const Tensor& self, const Scalar& lambd);
// For functions without kernels for the short floats, on what their operands promote to.
TAEDA_API void check_full_float(const char* op, Span<const Tensor*> operands);
TAEDA_API void check_integer_power(const Tensor& self, const Scalar& exponent);

}  // namespace taeda
