// The input over the root of its mean square, made of other operators.
#pragma once

#include <optional>

#include "taeda/core/tensor.h"

namespace taeda::normalization {

// What is added under the root: the number given, or the least step of the type computed in.
double rms_epsilon(DType dtype, std::optional<double> eps);

// The input divided by the root of the mean square over its last dimensions, and the reciprocal of
// that root, as functions of the input. 16-bit input in float.
struct RootMeanSquare {
  Tensor value, rstd;
  IntVec dims;
  DType dtype;
  RootMeanSquare(const Tensor& input, size_t ndim, std::optional<double> eps);
  Tensor mean(const Tensor& t) const { return t.mean(IntList(dims), /*keepdim=*/true); }
};

}  // namespace taeda::normalization
