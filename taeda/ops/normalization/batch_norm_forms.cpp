// Other forms of batch normalization, made of native_batch_norm: with and without statistics, in
// training and not, and by example.
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/normalization/statistics.h"

namespace taeda::impl {
namespace {

// What a library's kernel would keep for the backward pass.
Tensor no_reserve(const Tensor& input) {
  return taeda::empty({SymInt(0)}, DType::Byte, {}, input.device());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit(
    const Tensor& input, const Tensor& weight, const Tensor& bias, Tensor& running_mean,
    Tensor& running_var, bool training, double momentum, double eps) {
  return taeda::native_batch_norm(input, weight, bias, running_mean, running_var, training,
                                  momentum, eps);
}

std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit_no_stats(const Tensor& input,
                                                                     const Tensor& weight,
                                                                     const Tensor& bias,
                                                                     bool training, double momentum,
                                                                     double eps) {
  return taeda::native_batch_norm(input, weight, bias, Tensor(), Tensor(), training, momentum, eps);
}

std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit_no_training(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, double momentum, double eps) {
  return taeda::native_batch_norm(input, weight, bias, running_mean, running_var, false, momentum,
                                  eps);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _batch_norm_with_update(
    const Tensor& input, const Tensor& weight, const Tensor& bias, Tensor& running_mean,
    Tensor& running_var, double momentum, double eps) {
  const auto [out, save_mean, save_invstd] =
      taeda::native_batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {out, save_mean, save_invstd, no_reserve(input)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> _batch_norm_with_update_functional(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, double momentum, double eps) {
  const auto [out, save_mean, save_invstd, mean, var] = taeda::_native_batch_norm_legit_functional(
      input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {out, save_mean, save_invstd, no_reserve(input), mean, var};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _batch_norm_no_update(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, double momentum, double eps) {
  const auto [out, save_mean, save_invstd] = taeda::native_batch_norm(
      input, weight, bias, running_mean, running_var, false, momentum, eps);
  return {out, save_mean, save_invstd, no_reserve(input)};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(
    const Tensor& grad_out, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
    const Tensor& running_var, const Tensor& save_mean, const Tensor& save_var, bool update,
    double eps, Span<bool> output_mask, const Tensor&) {
  return taeda::native_batch_norm_backward(grad_out, input, weight, running_mean, running_var,
                                           save_mean, save_var, update, eps, output_mask);
}

Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps, bool cudnn_enabled) {
  TAEDA_CHECK(use_input_stats || (running_mean.defined() && running_var.defined()),
              "Expected running_mean and running_var to be defined when use_input_stats is false");
  const SymInt examples = input.sym_size(0), channels = input.sym_size(1);
  const DType dtype = weight.defined() ? weight.dtype() : input.dtype();
  // The channels of all examples side by side.
  const auto repeated = [&](const Tensor& t) { return t.defined() ? t.repeat({examples}) : t; };
  const auto statistic = [&](const Tensor& t) { return t.defined() ? repeated(t.to(dtype)) : t; };
  const Tensor mean = statistic(running_mean), var = statistic(running_var);
  SymIntVec shape(input.sym_sizes());
  shape[0] = SymInt(1);
  shape[1] = examples * channels;
  const Tensor out =
      taeda::batch_norm(input.contiguous().view(SymIntList(shape)), repeated(weight),
                        repeated(bias), mean, var, use_input_stats, momentum, eps, cudnn_enabled);
  const auto write = [&](const Tensor& running, const Tensor& moved) {
    if (!use_input_stats || !running.defined()) return;
    const int64_t dims[] = {0};
    normalization::write_statistic(
        running, moved.view({examples, channels}).mean(IntList(dims)).to(running.dtype()));
  };
  write(running_mean, mean);
  write(running_var, var);
  return out.view(input.sym_sizes());
}

}  // namespace taeda::impl
