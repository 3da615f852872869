// Convolutions with kernels of one element and no stride or padding: products of matrices as they
// lie.
#pragma once

#include "taeda/backends/cpu/convolution/products.h"

namespace taeda::cpu::convolution_kernels {

// As the functions of products.h, for geometries that are pointwise. They return false, having done
// nothing, where the implicit product is the better one.
bool pointwise_forward(const Tensors& t, const Tensor& bias);
bool pointwise_input(const Tensors& t, const Tensor& bias);
bool pointwise_weight(const Tensors& t);

}  // namespace taeda::cpu::convolution_kernels
