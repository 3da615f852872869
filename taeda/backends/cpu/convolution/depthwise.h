// Convolutions of which every channel sees itself only: no product of matrices, but few
// multiplications per element read.
#pragma once

#include "taeda/backends/cpu/convolution/products.h"

namespace taeda::cpu::convolution_kernels {

// Whether the functions below compute it, in float and double: one input and one output channel per
// group, and rows with a stride of at most 2 or channels innermost in memory.
bool is_depthwise(const Geometry& g);

// As the functions of products.h. Results do not depend on the number of threads.
Done depthwise_forward(const Tensors& t, const Tensor& bias);
Done depthwise_input(const Tensors& t, const Tensor& bias);
void depthwise_weight(const Tensors& t);

}  // namespace taeda::cpu::convolution_kernels
