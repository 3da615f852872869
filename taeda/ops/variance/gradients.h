// Derivative helpers of variance and standard deviation.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor var_backward(const Tensor& grad, const Tensor& self, std::optional<IntList> dim,
                              std::optional<Scalar> correction, bool keepdim);
// Zero where the deviation is.
TAEDA_API Tensor std_backward(const Tensor& result, const Tensor& grad, const Tensor& self,
                              std::optional<IntList> dim, std::optional<Scalar> correction,
                              bool keepdim);
// Either gradient may be undefined.
TAEDA_API Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean,
                                   const Tensor& self, std::optional<IntList> dim,
                                   std::optional<Scalar> correction, bool keepdim);
TAEDA_API Tensor std_mean_backward(const Tensor& std, const Tensor& grad_std,
                                   const Tensor& grad_mean, const Tensor& self,
                                   std::optional<IntList> dim, std::optional<Scalar> correction,
                                   bool keepdim);

// ---- forward mode ----
TAEDA_API Tensor var_forward(const Tensor& self, const Tensor& tangent, std::optional<IntList> dim,
                             std::optional<Scalar> correction, bool keepdim);
TAEDA_API Tensor std_forward(const Tensor& result, const Tensor& self, const Tensor& tangent,
                             std::optional<IntList> dim, std::optional<Scalar> correction,
                             bool keepdim);
TAEDA_API Tensor mean_forward(const Tensor& tangent, std::optional<IntList> dim, bool keepdim);

}  // namespace taeda::gradients
