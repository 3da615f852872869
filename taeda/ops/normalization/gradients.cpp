// Derivative helpers of softmax and layer normalization.
#include "taeda/ops/normalization/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::gradients {
namespace {

Tensor sum_along(const Tensor& t, int64_t dim) {
  const int64_t dims[] = {dim};
  return t.sum(IntList(dims), /*keepdim=*/true);
}

// The input brought to mean 0 and variance 1, and its reciprocal deviation, as functions of the
// input.
struct Normalized {
  Tensor value, rstd;
  IntVec dims;
  Normalized(const Tensor& input, size_t ndim, double eps) {
    for (int64_t d = input.dim() - static_cast<int64_t>(ndim); d < input.dim(); ++d)
      dims.push_back(d);
    const Tensor centered = input.sub(input.mean(IntList(dims), true));
    rstd = centered.mul(centered).mean(IntList(dims), true).add(Scalar(eps)).rsqrt();
    value = centered.mul(rstd);
  }
};

Tensor sum_leading(const Tensor& t, SymIntList sizes) {
  return t.sym_sizes() == sizes ? t : sum_to(t, sizes);
}

}  // namespace

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim) {
  const Tensor inner = sum_along(grad_output.mul(output), dim);
  return grad.mul(grad_output)
      .sub(grad.mul(inner))
      .sub(grad_output.mul(sum_along(grad.mul(output), dim)));
}

Tensor log_softmax_grad_backward(const Tensor& grad, const Tensor& output, int64_t dim) {
  return grad.sub(sum_along(grad.mul(output.exp()), dim));
}

Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output,
                                   const Tensor& output, int64_t dim) {
  return grad.mul(output.exp()).mul(sum_along(grad_output, dim)).neg();
}

Tensor layer_norm_input_backward(const Tensor& grad, const Tensor& input,
                                 SymIntList normalized_shape, const Tensor& mean,
                                 const Tensor& rstd, const Tensor& weight, double eps,
                                 bool is_recorded) {
  if (!grad.defined()) return grad;
  if (!is_recorded) {
    const bool mask[] = {true, false, false};
    return std::get<0>(taeda::native_layer_norm_backward(grad, input, normalized_shape, mean, rstd,
                                                         weight, Tensor(), mask));
  }
  const Normalized x(input, normalized_shape.size(), eps);
  const Tensor h = weight.defined() ? grad.mul(weight) : grad;
  const Tensor share = x.value.mul(h.mul(x.value).mean(IntList(x.dims), true));
  // Contiguous as the kernel's.
  const Tensor result = h.sub(h.mean(IntList(x.dims), true)).sub(share).mul(x.rstd);
  return cast_gradient(result, input.dtype()).contiguous();
}

Tensor layer_norm_weight_backward(const Tensor& grad, const Tensor& input,
                                  SymIntList normalized_shape, const Tensor& mean,
                                  const Tensor& rstd, const Tensor& weight, double eps,
                                  bool is_recorded) {
  if (!grad.defined()) return grad;
  if (!is_recorded) {
    const bool mask[] = {false, true, false};
    return std::get<1>(taeda::native_layer_norm_backward(grad, input, normalized_shape, mean, rstd,
                                                         weight, Tensor(), mask));
  }
  const Normalized x(input, normalized_shape.size(), eps);
  return cast_gradient(sum_leading(grad.mul(x.value), normalized_shape), weight.dtype());
}

Tensor layer_norm_bias_backward(const Tensor& grad, SymIntList normalized_shape,
                                const Tensor& bias) {
  return grad.defined() ? cast_gradient(sum_leading(grad, normalized_shape), bias.dtype()) : grad;
}

Tensor softmax_forward(const Tensor& tangent, const Tensor& result, int64_t dim) {
  const Tensor along = tangent.to(result.dtype()).mul(result);
  return along.sub(result.mul(sum_along(along, dim)));
}

Tensor log_softmax_forward(const Tensor& tangent, const Tensor& result, int64_t dim) {
  const Tensor t = tangent.to(result.dtype());
  return t.sub(sum_along(result.exp().mul(t), dim));
}

Tensor softmax_backward_forward(const Tensor& grad, const Tensor& grad_tangent,
                                const Tensor& output, const Tensor& output_tangent, int64_t dim) {
  const Tensor inner = grad.sub(sum_along(grad.mul(output), dim));
  const Tensor turned =
      grad_tangent.sub(sum_along(grad_tangent.mul(output).add(grad.mul(output_tangent)), dim));
  return output_tangent.mul(inner).add(output.mul(turned));
}

Tensor log_softmax_backward_forward(const Tensor& grad, const Tensor& grad_tangent,
                                    const Tensor& output, const Tensor& output_tangent,
                                    int64_t dim) {
  const Tensor weights = output_tangent.mul(sum_along(grad, dim)).add(sum_along(grad_tangent, dim));
  return grad_tangent.sub(output.exp().mul(weights));
}

Tensor layer_norm_forward(const Tensor& input, const Tensor& input_tangent,
                          SymIntList normalized_shape, const Tensor& weight,
                          const Tensor& weight_tangent, const Tensor& bias_tangent, double eps) {
  const Normalized x(input, normalized_shape.size(), eps);
  const IntList dims(x.dims);
  const Tensor along = x.value.mul(x.value.mul(input_tangent).mean(dims, true));
  Tensor out = input_tangent.sub(input_tangent.mean(dims, true)).sub(along).mul(x.rstd);
  if (weight.defined()) out = out.mul(weight).add(x.value.mul(weight_tangent));
  if (bias_tangent.defined()) out = out.add(bias_tangent);
  return out.to(input.dtype());
}

}  // namespace taeda::gradients
