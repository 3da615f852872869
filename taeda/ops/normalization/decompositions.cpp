// Batch normalization, rms_norm and the gradients of softmax as functions of core operators.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/normalization/operators.h"
#include "taeda/ops/normalization/root_mean_square.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

// The numbers by channel beside a tensor whose dimension 1 has the channels.
struct Channels {
  IntVec dims;  // all but that of the channels
  SymIntVec shape;
  SymInt count = 1;  // elements of a channel
  explicit Channels(const Tensor& input) : shape(static_cast<size_t>(input.dim()), SymInt(1)) {
    shape[1] = input.sym_size(1);
    for (int64_t d = 0; d < input.dim(); ++d) {
      if (d == 1) continue;
      dims.push_back(d);
      count *= input.sym_size(d);
    }
  }
  Tensor spread(const Tensor& t) const { return taeda::view(t, SymIntList(shape)); }
  Tensor sum(const Tensor& t) const { return ops::sum_dim_IntList(t, IntList(dims), false, {}); }
};

// In the order that results have, which pointwise operators keep.
Tensor in_rows(const Tensor& t) { return t.contiguous(t.suggested_format()); }

Tensor reciprocal_deviation(const Tensor& var, double eps) {
  return taeda::rsqrt(var + Scalar(eps));
}

}  // namespace

TAEDA_DECOMPOSITION(_native_batch_norm_legit_functional,
                    (const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool training,
                     double momentum, double eps)) {
  const Wide w({&input});
  const Channels c(input);
  const Tensor x = in_rows(w(input));
  const DType kept = running_mean.dtype();
  Tensor mean = w(running_mean), var = w(running_var);
  Tensor moved_mean = taeda::clone(running_mean), moved_var = taeda::clone(running_var);
  Tensor save_mean = taeda::full({SymInt(0)}, Scalar(0), kept, {}, input.device());
  Tensor save_invstd = save_mean;
  if (training) {
    const Scalar count(c.count);
    mean = c.sum(x) / count;
    const Tensor centered = x - c.spread(mean);
    var = c.sum(centered * centered) / count;
    save_mean = mean.to(kept);
    save_invstd = reciprocal_deviation(var, eps).to(kept);
    const auto moved = [&](const Tensor& running, const Tensor& value) {
      const Tensor wide = running.to(w.compute());
      return (wide + (value - wide) * Scalar(momentum)).to(running.dtype());
    };
    const SymInt free = sym_max(c.count - SymInt(1), SymInt(1));
    moved_mean = moved(running_mean, mean);
    moved_var = moved(running_var, var * count / Scalar(free));
  }
  Tensor out = (x - c.spread(mean)) * c.spread(reciprocal_deviation(var, eps));
  if (weight.defined()) out = out * c.spread(w(weight));
  if (bias.defined()) out = out + c.spread(w(bias));
  return {w.rounded(out), save_mean, save_invstd, moved_mean, moved_var};
}

TAEDA_DECOMPOSITION(native_batch_norm_backward,
                    (const Tensor& grad_out, const Tensor& input, const Tensor& weight,
                     const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                     const Tensor& save_invstd, bool train, double eps, Span<bool> output_mask)) {
  const Wide w({&input});
  const Channels c(input);
  const Tensor grad = in_rows(w(grad_out));
  const Tensor mean = w(train ? save_mean : running_mean);
  const Tensor rstd = train ? w(save_invstd) : reciprocal_deviation(w(running_var), eps);
  const Tensor centered = in_rows(w(input)) - c.spread(mean);
  const Tensor sum = c.sum(grad), product = c.sum(grad * centered);
  const DType kept = weight.defined() ? weight.dtype() : (train ? save_mean : running_mean).dtype();
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0]) {
    Tensor inner = grad;
    if (train) {
      const Scalar count(c.count);
      inner = grad - c.spread(sum / count) - centered * c.spread(product * rstd * rstd / count);
    }
    const Tensor scale = weight.defined() ? rstd * w(weight) : rstd;
    grad_input = w.rounded(inner * c.spread(scale));
  }
  if (output_mask[1]) grad_weight = (product * rstd).to(kept);
  if (output_mask[2]) grad_bias = sum.to(kept);
  return {grad_input, grad_weight, grad_bias};
}

TAEDA_DECOMPOSITION(_fused_rms_norm, (const Tensor& input, SymIntList normalized_shape,
                                      const Tensor& weight, std::optional<double> eps)) {
  const normalization::RootMeanSquare x(input, normalized_shape.size(), eps);
  const Tensor out = weight.defined() ? x.value * weight : x.value;
  return {out.to(input.dtype()).contiguous(), x.rstd};
}

TAEDA_DECOMPOSITION(_fused_rms_norm_backward,
                    (const Tensor& grad_out, const Tensor& input, SymIntList normalized_shape,
                     const Tensor& rstd, const Tensor& weight, Span<bool> output_mask)) {
  const Wide w({&input});
  const Tensor grad = w(grad_out), value = w(input) * w(rstd);
  Tensor grad_input, grad_weight;
  if (output_mask[0]) {
    const Tensor h = weight.defined() ? grad * w(weight) : grad;
    IntVec dims;
    SymInt count = 1;
    for (int64_t d = input.dim() - static_cast<int64_t>(normalized_shape.size()); d < input.dim();
         ++d) {
      dims.push_back(d);
      count *= input.sym_size(d);
    }
    const Tensor share = ops::sum_dim_IntList(h * value, IntList(dims), true, {}) / Scalar(count);
    grad_input = w.rounded((h - value * share) * w(rstd)).contiguous();
  }
  if (output_mask[1] && weight.defined())
    grad_weight = gradients::sum_to(grad * value, weight.sym_sizes()).to(weight.dtype());
  return {grad_input, grad_weight};
}

TAEDA_DECOMPOSITION(_softmax_backward_data, (const Tensor& grad_output, const Tensor& output,
                                             int64_t dim, DType input_dtype)) {
  const Wide w({&grad_output, &output});
  const Tensor y = w(output), product = w(grad_output) * y;
  return w.rounded(product - y * ops::sum_dim_IntList(product, IntList({dim}), true, {}),
                   input_dtype);
}

TAEDA_DECOMPOSITION(_log_softmax_backward_data, (const Tensor& grad_output, const Tensor& output,
                                                 int64_t dim, DType input_dtype)) {
  const Wide w({&grad_output, &output});
  const Tensor grad = w(grad_output);
  const Tensor total = ops::sum_dim_IntList(grad, IntList({dim}), true, {});
  return w.rounded(grad - taeda::exp(w(output)) * total, input_dtype);
}

}  // namespace taeda
