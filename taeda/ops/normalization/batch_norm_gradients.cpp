// Derivative helpers of batch normalization.
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/normalization/gradients.h"

namespace taeda::gradients {
namespace {

// The input brought to mean 0 and variance 1 by channel, and its reciprocal deviation, as
// functions of the input. 16-bit input in float.
struct ByChannel {
  Tensor value, rstd;
  IntVec dims;  // all but that of the channels
  DType dtype;
  SymIntVec shape;

  ByChannel(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
            bool training, double eps)
      : dtype(is_reduced_float(input.dtype()) ? DType::Float : input.dtype()),
        shape(static_cast<size_t>(input.dim()), SymInt(1)) {
    shape[1] = input.sym_size(1);
    for (int64_t d = 0; d < input.dim(); ++d)
      if (d != 1) dims.push_back(d);
    const Tensor x = input.to(dtype);
    const Tensor centered = x.sub(training ? mean(x) : spread(running_mean));
    rstd = (training ? mean(centered.mul(centered)) : spread(running_var)).add(Scalar(eps)).rsqrt();
    value = centered.mul(rstd);
  }
  Tensor mean(const Tensor& t) const { return t.mean(IntList(dims), true); }
  // A number by channel beside the input.
  Tensor spread(const Tensor& t) const { return t.to(dtype).view(shape); }
};

}  // namespace

Tensor batch_norm_input_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                 const Tensor& running_mean, const Tensor& running_var,
                                 const Tensor& save_mean, const Tensor& save_invstd, bool training,
                                 double eps, bool is_recorded) {
  if (!grad.defined()) return grad;
  if (!is_recorded) {
    const bool mask[] = {true, false, false};
    return std::get<0>(taeda::native_batch_norm_backward(grad, input, weight, running_mean,
                                                         running_var, save_mean, save_invstd,
                                                         training, eps, mask));
  }
  const ByChannel x(input, running_mean, running_var, training, eps);
  const Tensor g = grad.to(x.dtype);
  const Tensor h = weight.defined() ? g.mul(x.spread(weight)) : g;
  if (!training) return cast_gradient(h.mul(x.rstd), input.dtype());
  const Tensor share = x.value.mul(x.mean(h.mul(x.value)));
  return cast_gradient(h.sub(x.mean(h)).sub(share).mul(x.rstd), input.dtype());
}

Tensor batch_norm_weight_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                  const Tensor& running_mean, const Tensor& running_var,
                                  const Tensor& save_mean, const Tensor& save_invstd, bool training,
                                  double eps, bool is_recorded) {
  if (!grad.defined()) return grad;
  if (!is_recorded) {
    const bool mask[] = {false, true, false};
    return std::get<1>(taeda::native_batch_norm_backward(grad, input, weight, running_mean,
                                                         running_var, save_mean, save_invstd,
                                                         training, eps, mask));
  }
  const ByChannel x(input, running_mean, running_var, training, eps);
  return cast_gradient(grad.to(x.dtype).mul(x.value).sum(IntList(x.dims)), weight.dtype());
}

Tensor batch_norm_bias_backward(const Tensor& grad, const Tensor& bias) {
  if (!grad.defined()) return grad;
  IntVec dims;
  for (int64_t d = 0; d < grad.dim(); ++d)
    if (d != 1) dims.push_back(d);
  return cast_gradient(grad.sum(IntList(dims)), bias.dtype());
}

Tensor batch_norm_forward(const Tensor& input, const Tensor& input_tangent, const Tensor& weight,
                          const Tensor& weight_tangent, const Tensor& bias_tangent,
                          const Tensor& running_mean, const Tensor& running_var, bool training,
                          double eps) {
  const ByChannel x(input, running_mean, running_var, training, eps);
  Tensor out = input_tangent.to(x.dtype);
  if (training) out = out.sub(x.mean(out)).sub(x.value.mul(x.mean(x.value.mul(out))));
  out = out.mul(x.rstd);
  if (weight.defined()) out = out.mul(x.spread(weight)).add(x.value.mul(x.spread(weight_tangent)));
  if (bias_tangent.defined()) out = out.add(x.spread(bias_tangent));
  return out.to(input.dtype());
}

}  // namespace taeda::gradients
