// A convolution and its gradients as products over the patch matrix.
#pragma once

#include "taeda/backends/cpu/convolution/finish.h"

namespace taeda::cpu::convolution_kernels {

// The tensors of a plain convolution: x, weight and y have one dtype and lie in the layout that
// the geometry names, without gaps between elements. A bias has an element per channel of the
// result, or is undefined. `finish` is the work on blocks of y or x, whichever is the result.
struct Tensors {
  const Geometry& geometry;
  const Tensor &x, &weight, &y;
  Finish finish = {};
};

// What was done: blocks of the result that are final may still have to be finished, all at once.
enum class Done : uint8_t { Nothing, Computed, Finished };

// y = x * weight + bias.
Done forward_product(const Tensors& t, const Tensor& bias);
// x = the sum of what its elements add to `y`, + bias.
Done input_product(const Tensors& t, const Tensor& bias);
// weight = the sum of x times y over all images.
void weight_product(const Tensors& t);

}  // namespace taeda::cpu::convolution_kernels
