// Steps of optimizers by operators, row by row: for every device, any strides, and programs that
// look inside.
#include "taeda/ops/functions.h"
#include "taeda/ops/optim_steps/checks.h"
#include "taeda/ops/optim_steps/declarations.h"
#include "taeda/ops/optim_steps/functions.h"

namespace taeda::impl {
namespace {

using namespace optim_steps;

// A tensor in the dtype that a step computes in: halves are rounded once, at the end.
struct Widened {
  explicit Widened(const Tensor& t)
      : value(is_reduced_float(t.dtype()) ? t.to(DType::Float) : t), stored(t) {}
  void store() {
    if (is_reduced_float(stored.dtype())) stored.copy_(value);
  }

  Tensor value, stored;
};

// The gradient that a step goes by; the scale of a loss is taken out of it in place.
Tensor gradient(const Tensor& given, const Tensor& grad_scale, bool maximize) {
  Widened grad(given);
  if (grad_scale.defined()) {
    grad.value.div_(grad_scale);
    grad.store();
  }
  return maximize ? grad.value.neg() : grad.value;
}

// Numbers of a step are tensors in double precision: programs that look inside read none.
Tensor double_tensor(double number) { return scalar_tensor(Scalar(number), DType::Double); }
Tensor without_power(double base, const Tensor& step) {
  return pow(Scalar(base), step.to(DType::Double)).neg().add(Scalar(1));
}

struct AdamOptions {
  double lr, beta1, beta2, weight_decay, eps;
  bool maximize, is_decoupled;
};

void adam_row(const Tensor& param, const Tensor& grad, const Tensor& exp_avg,
              const Tensor& exp_avg_sq, const Tensor& max_exp_avg_sq, const Tensor& step,
              const AdamOptions& o, const Tensor& grad_scale) {
  Widened p(param), m(exp_avg), v(exp_avg_sq);
  Tensor g = gradient(grad, grad_scale, o.maximize);
  if (o.weight_decay != 0 && o.is_decoupled) p.value.mul_(Scalar(1 - o.lr * o.weight_decay));
  if (o.weight_decay != 0 && !o.is_decoupled) g = g.add(p.value, Scalar(o.weight_decay));
  m.value.lerp_(g, Scalar(1 - o.beta1));
  v.value.mul_(Scalar(o.beta2)).addcmul_(g, g, Scalar(1 - o.beta2));
  Tensor squares = v.value;
  if (max_exp_avg_sq.defined()) {
    Widened most(max_exp_avg_sq);
    squares = most.value.clamp_min_(squares);
    most.store();
  }
  const Tensor correction = without_power(o.beta2, step).sqrt();
  const Tensor denom = squares.sqrt().div_(correction).add(Scalar(o.eps));
  const Tensor size = double_tensor(-o.lr).div(without_power(o.beta1, step));
  p.value.addcdiv_(m.value.mul(size), denom);
  p.store();
  m.store();
  v.store();
}

void adam(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
          TensorList max_exp_avg_sqs, TensorList steps, bool amsgrad, const AdamOptions& options,
          const Tensor& grad_scale, const Tensor& found_inf) {
  check_adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, amsgrad);
  if (is_skipped(found_inf)) return;
  for (size_t i = 0; i < self.size(); ++i)
    adam_row(self[i], grads[i], exp_avgs[i], exp_avg_sqs[i],
             amsgrad ? max_exp_avg_sqs[i] : Tensor(), steps[i], options, grad_scale);
}

}  // namespace

void _fused_adam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                  TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1,
                  double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                  const Tensor& grad_scale, const Tensor& found_inf) {
  adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad,
       {lr, beta1, beta2, weight_decay, eps, maximize, false}, grad_scale, found_inf);
}

void _fused_adam__tensor_lr(TensorList self, TensorList grads, TensorList exp_avgs,
                            TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
                            TensorList state_steps, const Tensor& lr, double beta1, double beta2,
                            double weight_decay, double eps, bool amsgrad, bool maximize,
                            const Tensor& grad_scale, const Tensor& found_inf) {
  taeda::_fused_adam_(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
                      lr.item().to_double(), beta1, beta2, weight_decay, eps, amsgrad, maximize,
                      grad_scale, found_inf);
}

void _fused_adamw_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                   TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1,
                   double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                   const Tensor& grad_scale, const Tensor& found_inf) {
  adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad,
       {lr, beta1, beta2, weight_decay, eps, maximize, true}, grad_scale, found_inf);
}

void _fused_adamw__tensor_lr(TensorList self, TensorList grads, TensorList exp_avgs,
                             TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
                             TensorList state_steps, const Tensor& lr, double beta1, double beta2,
                             double weight_decay, double eps, bool amsgrad, bool maximize,
                             const Tensor& grad_scale, const Tensor& found_inf) {
  taeda::_fused_adamw_(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
                       lr.item().to_double(), beta1, beta2, weight_decay, eps, amsgrad, maximize,
                       grad_scale, found_inf);
}

void _fused_sgd_(TensorList self, TensorList grads, TensorList momentum_buffer_list,
                 double weight_decay, double momentum, double lr, double dampening, bool nesterov,
                 bool maximize, bool is_first_step, const Tensor& grad_scale,
                 const Tensor& found_inf) {
  check_sgd(self, grads, momentum_buffer_list, momentum);
  if (is_skipped(found_inf)) return;
  for (size_t i = 0; i < self.size(); ++i) {
    Widened p(self[i]);
    Tensor g = gradient(grads[i], grad_scale, maximize);
    if (weight_decay != 0) g = g.add(p.value, Scalar(weight_decay));
    if (!momentum_buffer_list.empty()) {
      Widened buffer(momentum_buffer_list[i]);
      if (is_first_step)
        buffer.value.copy_(g);
      else
        buffer.value.mul_(Scalar(momentum)).add_(g, Scalar(1 - dampening));
      g = nesterov ? g.add(buffer.value, Scalar(momentum)) : buffer.value;
      buffer.store();
    }
    p.value.add_(g, Scalar(-lr));
    p.store();
  }
}

void _fused_sgd__tensor_lr(TensorList self, TensorList grads, TensorList momentum_buffer_list,
                           double weight_decay, double momentum, const Tensor& lr, double dampening,
                           bool nesterov, bool maximize, bool is_first_step,
                           const Tensor& grad_scale, const Tensor& found_inf) {
  taeda::_fused_sgd_(self, grads, momentum_buffer_list, weight_decay, momentum,
                     lr.item().to_double(), dampening, nesterov, maximize, is_first_step,
                     grad_scale, found_inf);
}

void _fused_adagrad_(TensorList self, TensorList grads, TensorList state_sums,
                     TensorList state_steps, double lr, double lr_decay, double weight_decay,
                     double eps, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  check_adagrad(self, grads, state_sums, state_steps);
  if (is_skipped(found_inf)) return;
  for (size_t i = 0; i < self.size(); ++i) {
    Widened p(self[i]), sum(state_sums[i]);
    Tensor g = gradient(grads[i], grad_scale, maximize);
    if (weight_decay != 0) g = g.add(p.value, Scalar(weight_decay));
    sum.value.addcmul_(g, g);
    const Tensor step = state_steps[i].to(DType::Double);
    const Tensor slower = step.sub(Scalar(1)).mul(Scalar(lr_decay)).add(Scalar(1));
    p.value.addcdiv_(g.mul(double_tensor(-lr).div(slower)), sum.value.sqrt().add_(Scalar(eps)));
    p.store();
    sum.store();
  }
}

void _fused_adagrad__tensor_lr(TensorList self, TensorList grads, TensorList state_sums,
                               TensorList state_steps, const Tensor& lr, double lr_decay,
                               double weight_decay, double eps, bool maximize,
                               const Tensor& grad_scale, const Tensor& found_inf) {
  taeda::_fused_adagrad_(self, grads, state_sums, state_steps, lr.item().to_double(), lr_decay,
                         weight_decay, eps, maximize, grad_scale, found_inf);
}

}  // namespace taeda::impl
