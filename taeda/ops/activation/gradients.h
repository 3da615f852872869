// Second derivatives of activations.
#pragma once

#include <string_view>

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// Derivatives of silu_backward and gelu_backward with respect to self.
TAEDA_API Tensor silu_double_backward(const Tensor& grad, const Tensor& grad_output,
                                      const Tensor& self);
TAEDA_API Tensor gelu_double_backward(const Tensor& grad, const Tensor& grad_output,
                                      const Tensor& self, std::string_view approximate);

}  // namespace taeda::gradients
