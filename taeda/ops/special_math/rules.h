// Shapes and arguments that several special functions share.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/ops/spec.h"

namespace taeda {

// self - j / 2 for j = 0 .. p - 1, in a last dimension of its own.
Tensor mvlgamma_arguments(const Tensor& self, int64_t p);

// The result of a function of two tensors without kernels for the short floats, in the dtype that
// they promote to; integers become the default float.
OutSpec full_float_spec(const char* op, const Tensor& a, const Tensor& b);

}  // namespace taeda
