// Checks of random operators before they draw; the same for kernels and for meta tensors.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

TAEDA_API void check_uniform(const Tensor& self, double from, double to);
TAEDA_API void check_normal(const Tensor& self, double std);
TAEDA_API void check_exponential(const Tensor& self, double lambd);
TAEDA_API void check_cauchy(const Tensor& self, double sigma);
TAEDA_API void check_log_normal(const Tensor& self, double std);
TAEDA_API void check_geometric(const Tensor& self, double p);
TAEDA_API void check_bernoulli(const Tensor& self, double p);
TAEDA_API void check_bernoulli(const Tensor& self, const Tensor& p);

// Integers.
TAEDA_API void check_integers(const Tensor& self);
TAEDA_API void check_range(DType dtype, int64_t from, int64_t to);
// Moves ends between two numbers of a floating dtype inwards, as PyTorch does.
TAEDA_API void narrow_range(DType dtype, int64_t& from, int64_t& to);
TAEDA_API int64_t narrow_start(DType dtype, int64_t from);
// Of a range up to the dtype's last integer.
TAEDA_API void check_start(DType dtype, int64_t from);
// The largest integer up to which a dtype holds every one.
TAEDA_API int64_t last_integer(DType dtype);

}  // namespace taeda
