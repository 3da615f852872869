// What the matrix products of the operator layer ask of the CPU backend beside the generated
// kernels.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::cpu {

// out = input @ weight.T + bias, for a weight matrix, inputs of any number of dimensions and
// strides, and a bias that broadcasts to `out` (or none).
void linear(const Tensor& input, const Tensor& weight, const Tensor& bias, Tensor& out);

}  // namespace taeda::cpu
