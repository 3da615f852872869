// Derivative helpers of group normalization.
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/normalization/gradients.h"

namespace taeda::gradients {
namespace {

// The input brought to mean 0 and variance 1 by group, and its reciprocal deviation, as functions
// of the input. 16-bit input in float.
struct ByGroup {
  Tensor value, rstd;
  DType dtype;
  SymIntVec sizes, groups;  // of the input, and with its channels and all behind them in groups

  ByGroup(const Tensor& input, int64_t group, double eps)
      : dtype(is_reduced_float(input.dtype()) ? DType::Float : input.dtype()),
        sizes(input.sym_sizes()),
        groups{input.sym_size(0), SymInt(group), input.sym_size(1) / SymInt(group)} {
    for (int64_t d = 2; d < input.dim(); ++d) groups[2] *= input.sym_size(d);
    const Tensor x = grouped(input);
    const Tensor centered = x.sub(mean(x));
    rstd = mean(centered.mul(centered)).add(Scalar(eps)).rsqrt();
    value = centered.mul(rstd);
  }
  Tensor grouped(const Tensor& t) const { return t.to(dtype).reshape(SymIntList(groups)); }
  Tensor like_input(const Tensor& t) const { return t.reshape(SymIntList(sizes)); }
  static Tensor mean(const Tensor& t) {
    const int64_t dims[] = {2};
    return t.mean(IntList(dims), /*keepdim=*/true);
  }
  // A number per group beside the groups.
  Tensor per_group(const Tensor& t) const { return t.to(dtype).unsqueeze(2); }
  // A number per channel beside the input.
  Tensor spread(const Tensor& t) const {
    SymIntVec shape(sizes.size(), SymInt(1));
    shape[1] = sizes[1];
    return t.to(dtype).view(SymIntList(shape));
  }
  Tensor sum_by_channel(const Tensor& t) const {
    IntVec dims;
    for (int64_t d = 0; d < t.dim(); ++d)
      if (d != 1) dims.push_back(d);
    return t.sum(IntList(dims));
  }
  // What a change of the input, in groups, changes of `value`; it is its own transpose.
  Tensor through(const Tensor& change) const {
    return change.sub(mean(change)).sub(value.mul(mean(value.mul(change)))).mul(rstd);
  }
};

}  // namespace

std::tuple<Tensor, Tensor, Tensor> group_norm_backward(
    const Tensor& grad, const Tensor& grad_mean, const Tensor& grad_rstd, const Tensor& input,
    const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& rstd,
    const SymInt& examples, const SymInt& channels, const SymInt& inner, int64_t group, double eps,
    Span<bool> wanted, bool is_recorded) {
  const bool is_plain = !grad_mean.defined() && !grad_rstd.defined();
  if (is_plain && !grad.defined()) return {};
  if (is_plain && !is_recorded)
    return taeda::native_group_norm_backward(grad, input, mean, rstd, weight, examples, channels,
                                             inner, group, wanted);
  const ByGroup x(input, group, eps);
  const Tensor g = grad.defined() ? grad.to(x.dtype) : taeda::zeros_like(input, x.dtype);
  Tensor grad_input, grad_weight, grad_bias;
  if (wanted[0]) {
    Tensor change = x.through(x.grouped(weight.defined() ? g.mul(x.spread(weight)) : g));
    const Scalar count(x.value.sym_size(2));
    if (grad_mean.defined()) change = change.add(x.per_group(grad_mean).div(count));
    if (grad_rstd.defined())
      change = change.sub(x.value.mul(x.per_group(grad_rstd).mul(x.rstd).mul(x.rstd).div(count)));
    grad_input = cast_gradient(x.like_input(change), input.dtype());
  }
  if (wanted[1])
    grad_weight = cast_gradient(x.sum_by_channel(g.mul(x.like_input(x.value))), weight.dtype());
  if (wanted[2]) grad_bias = cast_gradient(x.sum_by_channel(g), bias.dtype());
  return {grad_input, grad_weight, grad_bias};
}

std::tuple<Tensor, Tensor, Tensor> group_norm_forward(
    const Tensor& input, const Tensor& input_tangent, const Tensor& weight,
    const Tensor& weight_tangent, const Tensor& bias_tangent, int64_t group, double eps) {
  const ByGroup x(input, group, eps);
  const Tensor tangent = x.grouped(input_tangent);
  Tensor out = x.like_input(x.through(tangent));
  if (weight.defined())
    out = out.mul(x.spread(weight)).add(x.like_input(x.value).mul(x.spread(weight_tangent)));
  if (bias_tangent.defined()) out = out.add(x.spread(bias_tangent));
  const Tensor rstd = ByGroup::mean(x.value.mul(tangent)).mul(x.rstd).mul(x.rstd).neg();
  return {out.to(input.dtype()), ByGroup::mean(tangent).squeeze(2), rstd.squeeze(2)};
}

}  // namespace taeda::gradients
