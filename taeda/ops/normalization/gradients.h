// Derivative helpers of softmax, layer and batch normalization.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// Derivatives of _softmax_backward_data and _log_softmax_backward_data.
TAEDA_API Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output,
                                         const Tensor& output, int64_t dim);
TAEDA_API Tensor log_softmax_grad_backward(const Tensor& grad, const Tensor& output, int64_t dim);
TAEDA_API Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output,
                                             const Tensor& output, int64_t dim);

// One kernel, or operators where the gradient will be differentiated again. The statistics that
// come out of native_layer_norm pass no gradient on.
TAEDA_API Tensor layer_norm_input_backward(const Tensor& grad, const Tensor& input,
                                           SymIntList normalized_shape, const Tensor& mean,
                                           const Tensor& rstd, const Tensor& weight, double eps,
                                           bool is_recorded);
TAEDA_API Tensor layer_norm_weight_backward(const Tensor& grad, const Tensor& input,
                                            SymIntList normalized_shape, const Tensor& mean,
                                            const Tensor& rstd, const Tensor& weight, double eps,
                                            bool is_recorded);
TAEDA_API Tensor layer_norm_bias_backward(const Tensor& grad, SymIntList normalized_shape,
                                          const Tensor& bias);

// The same for batch normalization.
TAEDA_API Tensor batch_norm_input_backward(const Tensor& grad, const Tensor& input,
                                           const Tensor& weight, const Tensor& running_mean,
                                           const Tensor& running_var, const Tensor& save_mean,
                                           const Tensor& save_invstd, bool training, double eps,
                                           bool is_recorded);
TAEDA_API Tensor batch_norm_weight_backward(const Tensor& grad, const Tensor& input,
                                            const Tensor& weight, const Tensor& running_mean,
                                            const Tensor& running_var, const Tensor& save_mean,
                                            const Tensor& save_invstd, bool training, double eps,
                                            bool is_recorded);
TAEDA_API Tensor batch_norm_bias_backward(const Tensor& grad, const Tensor& bias);

// The same for group normalization and rms_norm, all gradients that `wanted` names at once. The
// statistics of group normalization have derivatives.
TAEDA_API std::tuple<Tensor, Tensor, Tensor> group_norm_backward(
    const Tensor& grad, const Tensor& grad_mean, const Tensor& grad_rstd, const Tensor& input,
    const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& rstd,
    const SymInt& examples, const SymInt& channels, const SymInt& inner, int64_t group, double eps,
    Span<bool> wanted, bool is_recorded);
TAEDA_API std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& input,
                                                       SymIntList normalized_shape,
                                                       const Tensor& rstd, const Tensor& weight,
                                                       std::optional<double> eps, Span<bool> wanted,
                                                       bool is_recorded);

// ---- forward mode ----
TAEDA_API std::tuple<Tensor, Tensor, Tensor> group_norm_forward(
    const Tensor& input, const Tensor& input_tangent, const Tensor& weight,
    const Tensor& weight_tangent, const Tensor& bias_tangent, int64_t group, double eps);
TAEDA_API Tensor rms_norm_forward(const Tensor& input, const Tensor& input_tangent,
                                  SymIntList normalized_shape, const Tensor& weight,
                                  const Tensor& weight_tangent, std::optional<double> eps);
TAEDA_API Tensor batch_norm_forward(const Tensor& input, const Tensor& input_tangent,
                                    const Tensor& weight, const Tensor& weight_tangent,
                                    const Tensor& bias_tangent, const Tensor& running_mean,
                                    const Tensor& running_var, bool training, double eps);
TAEDA_API Tensor softmax_forward(const Tensor& tangent, const Tensor& result, int64_t dim);
TAEDA_API Tensor log_softmax_forward(const Tensor& tangent, const Tensor& result, int64_t dim);
TAEDA_API Tensor softmax_backward_forward(const Tensor& grad, const Tensor& grad_tangent,
                                          const Tensor& output, const Tensor& output_tangent,
                                          int64_t dim);
TAEDA_API Tensor log_softmax_backward_forward(const Tensor& grad, const Tensor& grad_tangent,
                                              const Tensor& output, const Tensor& output_tangent,
                                              int64_t dim);
// From the input alone: the statistics that come out of native_layer_norm have no derivative.
TAEDA_API Tensor layer_norm_forward(const Tensor& input, const Tensor& input_tangent,
                                    SymIntList normalized_shape, const Tensor& weight,
                                    const Tensor& weight_tangent, const Tensor& bias_tangent,
                                    double eps);

}  // namespace taeda::gradients
