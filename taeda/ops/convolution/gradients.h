// Derivative helpers of convolutions: a convolution is linear in its input and in its weight, and
// all derivatives are convolutions and their gradients again.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// The gradients for input, weight and bias, where `wanted`; `bias_sizes` is empty without a bias.
TAEDA_API std::tuple<Tensor, Tensor, Tensor> convolution_gradients(
    const Tensor& grad, const Tensor& input, const Tensor& weight, SymIntList bias_sizes,
    SymIntList stride, SymIntList padding, SymIntList dilation, bool transposed,
    SymIntList output_padding, const SymInt& groups, Span<bool> wanted);

// Of convolution_backward, by argument; `grads` belong to its three results and may be undefined.
TAEDA_API Tensor convolution_grad_output_backward(Span<Tensor> grads, const Tensor& input,
                                                  const Tensor& weight, SymIntList stride,
                                                  SymIntList padding, SymIntList dilation,
                                                  bool transposed, SymIntList output_padding,
                                                  const SymInt& groups);
TAEDA_API Tensor convolution_input_double_backward(const Tensor& grad, const Tensor& grad_output,
                                                   const Tensor& input, SymIntList stride,
                                                   SymIntList padding, SymIntList dilation,
                                                   bool transposed, SymIntList output_padding,
                                                   const SymInt& groups);
TAEDA_API Tensor convolution_weight_double_backward(const Tensor& grad, const Tensor& grad_output,
                                                    const Tensor& weight, SymIntList stride,
                                                    SymIntList padding, SymIntList dilation,
                                                    bool transposed, SymIntList output_padding,
                                                    const SymInt& groups);

// ---- forward mode of convolution_backward, by result ----
TAEDA_API Tensor convolution_input_tangent(const Tensor& grad_output, const Tensor& grad_output_t,
                                           const Tensor& input, const Tensor& weight,
                                           const Tensor& weight_t, SymIntList stride,
                                           SymIntList padding, SymIntList dilation, bool transposed,
                                           SymIntList output_padding, const SymInt& groups,
                                           Span<bool> output_mask);
TAEDA_API Tensor convolution_weight_tangent(const Tensor& grad_output, const Tensor& grad_output_t,
                                            const Tensor& input, const Tensor& input_t,
                                            const Tensor& weight, SymIntList stride,
                                            SymIntList padding, SymIntList dilation,
                                            bool transposed, SymIntList output_padding,
                                            const SymInt& groups, Span<bool> output_mask);
TAEDA_API Tensor convolution_bias_tangent(const Tensor& grad_output_t, Span<bool> output_mask);

}  // namespace taeda::gradients
