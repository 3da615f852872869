// Matrix products in parts, and what the operator layer asks of the CPU backend beside the
// generated kernels.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// linear as PyTorch composes it, of matmul or addmm.
Tensor linear_by_parts(const Tensor& input, const Tensor& weight, const Tensor& bias);
// The product of batches of matrices, whose batch dimensions broadcast, by one bmm.
Tensor batched_by_bmm(const Tensor& a, const Tensor& b);

}  // namespace taeda

namespace taeda::cpu {

// out = input @ weight.T + bias, for a weight matrix, inputs of any number of dimensions and
// strides, and a bias that broadcasts to `out` (or none).
void linear(const Tensor& input, const Tensor& weight, const Tensor& bias, Tensor& out);

}  // namespace taeda::cpu
