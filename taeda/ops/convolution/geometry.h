// The arguments of a convolution, checked: what rules, batching and derivatives share.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// Strides, paddings and so on per spatial dimension; a list of one stands for all of them.
struct ConvolutionGeometry {
  SymIntVec stride, padding, dilation, output_padding;
  bool transposed;
  SymInt groups;

  // RuntimeError with PyTorch's phrases for lists of a wrong length and groups below 1.
  ConvolutionGeometry(const Tensor& weight, SymIntList stride, SymIntList padding,
                      SymIntList dilation, bool transposed, SymIntList output_padding,
                      SymInt groups);

  int64_t spatial() const { return static_cast<int64_t>(stride.size()); }
  // RuntimeError where input, weight and bias do not fit together, NotImplementedError for dtypes
  // without convolutions.
  void check(const Tensor& input, const Tensor& weight, const Tensor& bias) const;
  // Sizes of the result.
  SymIntVec out_sizes(const Tensor& input, const Tensor& weight) const;
};

// Channels innermost where input or weight have them there, as PyTorch's kernels choose.
MemoryFormat convolution_format(const Tensor& input, const Tensor& weight);

}  // namespace taeda
