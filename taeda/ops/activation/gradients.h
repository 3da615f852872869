// Second derivatives of activations.
#pragma once

#include <string_view>

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// Derivatives of the operators named <activation>_backward with respect to the activation's
// argument.
TAEDA_API Tensor silu_double_backward(const Tensor& grad, const Tensor& grad_output,
                                      const Tensor& self);
TAEDA_API Tensor gelu_double_backward(const Tensor& grad, const Tensor& grad_output,
                                      const Tensor& self, std::string_view approximate);
TAEDA_API Tensor elu_double_backward(const Tensor& grad, const Tensor& grad_output,
                                     const Scalar& alpha, const Scalar& scale,
                                     const Scalar& input_scale, bool is_result,
                                     const Tensor& self_or_result);
TAEDA_API Tensor mish_double_backward(const Tensor& grad, const Tensor& grad_output,
                                      const Tensor& self);
TAEDA_API Tensor hardswish_double_backward(const Tensor& grad, const Tensor& grad_output,
                                           const Tensor& self);
TAEDA_API Tensor softplus_double_backward(const Tensor& grad, const Tensor& grad_output,
                                          const Tensor& self, const Scalar& beta,
                                          const Scalar& threshold);

}  // namespace taeda::gradients
