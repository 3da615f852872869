// A convolution and its gradients as products over the patch matrix.
#pragma once

#include "taeda/backends/cpu/convolution/geometry.h"

namespace taeda::cpu::convolution_kernels {

// The tensors of a plain convolution: x, weight and y have one dtype and lie in the layout that
// the geometry names, without gaps between elements. A bias has an element per channel of the
// result, or is undefined.
struct Tensors {
  const Geometry& geometry;
  const Tensor &x, &weight, &y;
};

// y = x * weight + bias.
void forward_product(const Tensors& t, const Tensor& bias);
// x = the sum of what its elements add to `y`, + bias.
void input_product(const Tensors& t, const Tensor& bias);
// weight = the sum of x times y over all images.
void weight_product(const Tensors& t);

}  // namespace taeda::cpu::convolution_kernels
