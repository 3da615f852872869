// Derivative helpers of the losses.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor nll_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                                   const Tensor& weight, int64_t reduction,
                                   const SymInt& ignore_index, const Tensor& total_weight);
TAEDA_API Tensor nll_loss2d_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     const Tensor& weight, int64_t reduction,
                                     const SymInt& ignore_index, const Tensor& total_weight);
// One pass over memory; from softmax and nll_loss_backward when the gradient itself is recorded.
TAEDA_API Tensor fused_cross_entropy_gradient(const Tensor& grad, const Tensor& self,
                                              const Tensor& target, int64_t reduction,
                                              const SymInt& ignore_index, const Tensor& norms,
                                              const Tensor& count, bool is_recorded);
TAEDA_API Tensor mse_loss_self_backward(const Tensor& grad, const Tensor& self,
                                        const Tensor& target, int64_t reduction);
TAEDA_API Tensor smooth_l1_loss_gradient(const Tensor& grad, const Tensor& self,
                                         const Tensor& target, int64_t reduction, double beta);
TAEDA_API Tensor huber_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     int64_t reduction, double delta);
TAEDA_API Tensor soft_margin_loss_gradient(const Tensor& grad, const Tensor& self,
                                           const Tensor& target, int64_t reduction);
TAEDA_API Tensor binary_cross_entropy_gradient(const Tensor& grad, const Tensor& self,
                                               const Tensor& target, const Tensor& weight,
                                               int64_t reduction);
TAEDA_API Tensor binary_cross_entropy_target_gradient(const Tensor& grad, const Tensor& self,
                                                      const Tensor& target, const Tensor& weight,
                                                      int64_t reduction);
TAEDA_API Tensor ctc_loss_gradient(const Tensor& grad, const Tensor& log_probs,
                                   const Tensor& targets, IntList input_lengths,
                                   IntList target_lengths, const Tensor& losses,
                                   const Tensor& log_alpha, int64_t blank, bool zero_infinity);
TAEDA_API Tensor ctc_loss_gradient(const Tensor& grad, const Tensor& log_probs,
                                   const Tensor& targets, const Tensor& input_lengths,
                                   const Tensor& target_lengths, const Tensor& losses,
                                   const Tensor& log_alpha, int64_t blank, bool zero_infinity);
TAEDA_API Tensor multilabel_margin_loss_gradient(const Tensor& grad, const Tensor& self,
                                                 const Tensor& target, int64_t reduction,
                                                 const Tensor& is_target);
TAEDA_API Tensor chunked_linear_cross_entropy_input_backward(
    const Tensor& grad, const Tensor& input, const Tensor& linear_weight, const Tensor& target,
    const Tensor& linear_bias, const Tensor& weight, int64_t reduction, const SymInt& ignore_index,
    const SymInt& chunk_size);
TAEDA_API Tensor chunked_linear_cross_entropy_weight_backward(
    const Tensor& grad, const Tensor& input, const Tensor& linear_weight, const Tensor& target,
    const Tensor& linear_bias, const Tensor& weight, int64_t reduction, const SymInt& ignore_index,
    const SymInt& chunk_size);
TAEDA_API Tensor chunked_linear_cross_entropy_bias_backward(
    const Tensor& grad, const Tensor& input, const Tensor& linear_weight, const Tensor& target,
    const Tensor& linear_bias, const Tensor& weight, int64_t reduction, const SymInt& ignore_index,
    const SymInt& chunk_size);

// ---- forward mode ----
TAEDA_API Tensor ctc_loss_forward(const Tensor& log_probs, const Tensor& tangent,
                                  const Tensor& targets, IntList input_lengths,
                                  IntList target_lengths, const Tensor& losses,
                                  const Tensor& log_alpha, int64_t blank, bool zero_infinity);
TAEDA_API Tensor ctc_loss_forward(const Tensor& log_probs, const Tensor& tangent,
                                  const Tensor& targets, const Tensor& input_lengths,
                                  const Tensor& target_lengths, const Tensor& losses,
                                  const Tensor& log_alpha, int64_t blank, bool zero_infinity);
TAEDA_API Tensor multi_margin_loss_forward(const Tensor& self, const Tensor& tangent,
                                           const Tensor& target, const Scalar& p,
                                           const Scalar& margin, const Tensor& weight,
                                           int64_t reduction);
// The derivative of the loss along `tangent`, from the slopes of its pairs.
TAEDA_API Tensor multilabel_margin_loss_tangent(const Tensor& tangent, const Tensor& self,
                                                const Tensor& target, int64_t reduction,
                                                const Tensor& is_target);
TAEDA_API Tensor chunked_linear_cross_entropy_forward(
    const Tensor& input, const Tensor& input_tangent, const Tensor& linear_weight,
    const Tensor& weight_tangent, const Tensor& target, const Tensor& linear_bias,
    const Tensor& bias_tangent, const Tensor& weight, int64_t reduction, const SymInt& ignore_index,
    const SymInt& chunk_size);
TAEDA_API Tensor smooth_l1_loss_forward(const Tensor& self, const Tensor& self_tangent,
                                        const Tensor& target, const Tensor& target_tangent,
                                        int64_t reduction, double beta);
TAEDA_API Tensor huber_loss_forward(const Tensor& self, const Tensor& self_tangent,
                                    const Tensor& target, const Tensor& target_tangent,
                                    int64_t reduction, double delta);
TAEDA_API Tensor soft_margin_loss_forward(const Tensor& self, const Tensor& self_tangent,
                                          const Tensor& target, int64_t reduction);
TAEDA_API Tensor binary_cross_entropy_forward(const Tensor& self, const Tensor& self_tangent,
                                              const Tensor& target, const Tensor& target_tangent,
                                              const Tensor& weight, int64_t reduction);
TAEDA_API Tensor fused_cross_entropy_forward(const Tensor& self, const Tensor& tangent,
                                             const Tensor& target, int64_t reduction,
                                             const SymInt& ignore_index);
TAEDA_API Tensor mse_loss_forward(const Tensor& self, const Tensor& self_tangent,
                                  const Tensor& target, const Tensor& target_tangent,
                                  int64_t reduction);

}  // namespace taeda::gradients
