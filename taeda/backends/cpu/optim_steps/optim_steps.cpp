// The CPU's steps of optimizers: the numbers of each row, then all rows at once.
#include <cmath>

#include "taeda/backends/cpu/optim_steps/step_rows.h"
#include "taeda/backends/cpu/optim_steps_declarations.h"
#include "taeda/ops/optim_steps/checks.h"
#include "taeda/ops/optim_steps/declarations.h"

namespace taeda::cpu {
namespace {

StepNumbers common_numbers(const Tensor& grad_scale, bool maximize) {
  StepNumbers c;
  c.has_grad_scale = grad_scale.defined();
  if (c.has_grad_scale) c.grad_scale = read_scalar(grad_scale).to_double();
  c.is_maximized = maximize;
  return c;
}

struct AdamOptions {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize, is_decoupled;
};

// False where the rows must run one by one.
bool run_adam(KeySet ks, Span<TensorList> columns, TensorList steps, const AdamOptions& o,
              const Tensor& grad_scale, const Tensor& found_inf) {
  const StepRows rows(ks, Span<TensorList>(columns.data(), o.amsgrad ? 5 : 4));
  if (!rows.can_run()) return false;
  if (optim_steps::is_skipped(found_inf)) return true;
  StepNumbers c = common_numbers(grad_scale, o.maximize);
  c.beta1 = o.beta1;
  c.beta2 = o.beta2;
  c.eps = o.eps;
  c.has_state = o.amsgrad;
  if (o.weight_decay != 0) {
    c.decay_form = o.is_decoupled ? Decay::OfParameter : Decay::OfGradient;
    c.decay = o.is_decoupled ? 1 - o.lr * o.weight_decay : o.weight_decay;
  }
  std::vector<StepNumbers> numbers(rows.size(), c);
  double last = 0;  // most rows are at the same step
  for (size_t i = 0; i < rows.size(); ++i) {
    const double step = read_scalar(steps[i]).to_double();
    if (step != last) {
      c.size = -o.lr / (1 - step_fns().power(o.beta1, step));
      c.correction = std::sqrt(1 - step_fns().power(o.beta2, step));
      last = step;
    }
    numbers[i].size = c.size;
    numbers[i].correction = c.correction;
  }
  rows.run(step_fns().adam, numbers);
  return true;
}

}  // namespace

void _fused_adam_(KeySet ks, TensorList self, TensorList grads, TensorList exp_avgs,
                  TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps,
                  double lr, double beta1, double beta2, double weight_decay, double eps,
                  bool amsgrad, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  optim_steps::check_adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
                          amsgrad);
  const TensorList columns[] = {self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs};
  const AdamOptions options{lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, false};
  if (!run_adam(ks, columns, state_steps, options, grad_scale, found_inf))
    impl::_fused_adam_(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1,
                       beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_adamw_(KeySet ks, TensorList self, TensorList grads, TensorList exp_avgs,
                   TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList state_steps,
                   double lr, double beta1, double beta2, double weight_decay, double eps,
                   bool amsgrad, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  optim_steps::check_adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
                          amsgrad);
  const TensorList columns[] = {self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs};
  const AdamOptions options{lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, true};
  if (!run_adam(ks, columns, state_steps, options, grad_scale, found_inf))
    impl::_fused_adamw_(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1,
                        beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
}

void _fused_sgd_(KeySet ks, TensorList self, TensorList grads, TensorList momentum_buffer_list,
                 double weight_decay, double momentum, double lr, double dampening, bool nesterov,
                 bool maximize, bool is_first_step, const Tensor& grad_scale,
                 const Tensor& found_inf) {
  optim_steps::check_sgd(self, grads, momentum_buffer_list, momentum);
  const TensorList columns[] = {self, grads, momentum_buffer_list};
  const bool has_momentum = !momentum_buffer_list.empty();
  const StepRows rows(ks, Span<TensorList>(columns, has_momentum ? 3 : 2));
  if (!rows.can_run())
    return impl::_fused_sgd_(self, grads, momentum_buffer_list, weight_decay, momentum, lr,
                             dampening, nesterov, maximize, is_first_step, grad_scale, found_inf);
  if (optim_steps::is_skipped(found_inf)) return;
  StepNumbers c = common_numbers(grad_scale, maximize);
  c.size = -lr;
  c.momentum = momentum;
  c.dampening = dampening;
  c.has_state = has_momentum;
  c.is_nesterov = nesterov;
  c.is_first = is_first_step;
  if (weight_decay != 0) c.decay_form = Decay::OfGradient;
  c.decay = weight_decay;
  rows.run(step_fns().sgd, std::vector<StepNumbers>(rows.size(), c));
}

void _fused_adagrad_(KeySet ks, TensorList self, TensorList grads, TensorList state_sums,
                     TensorList state_steps, double lr, double lr_decay, double weight_decay,
                     double eps, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  optim_steps::check_adagrad(self, grads, state_sums, state_steps);
  const TensorList columns[] = {self, grads, state_sums};
  const StepRows rows(ks, columns);
  if (!rows.can_run())
    return impl::_fused_adagrad_(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay,
                                 eps, maximize, grad_scale, found_inf);
  if (optim_steps::is_skipped(found_inf)) return;
  StepNumbers c = common_numbers(grad_scale, maximize);
  c.eps = eps;
  if (weight_decay != 0) c.decay_form = Decay::OfGradient;
  c.decay = weight_decay;
  std::vector<StepNumbers> numbers(rows.size(), c);
  for (size_t i = 0; i < rows.size(); ++i)
    numbers[i].size = -lr / (1 + (read_scalar(state_steps[i]).to_double() - 1) * lr_decay);
  rows.run(step_fns().adagrad, numbers);
}

}  // namespace taeda::cpu
