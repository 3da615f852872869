// Matrix products in parts, for modes and for devices without a kernel of the whole.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// linear as PyTorch composes it, of matmul or addmm.
TAEDA_API Tensor linear_by_parts(const Tensor& input, const Tensor& weight, const Tensor& bias);
// The product of batches of matrices, whose batch dimensions broadcast, by one bmm.
TAEDA_API Tensor batched_by_bmm(const Tensor& a, const Tensor& b);

}  // namespace taeda
