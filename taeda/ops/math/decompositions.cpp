// Mathematical functions and gradients outside the core set as functions of core operators.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/wide.h"

namespace taeda {

TAEDA_DECOMPOSITION(exp2, (const Tensor& self)) {
  const Wide w({&self}, Wide::Rule::Float);
  return w.rounded(taeda::pow(Scalar(2), w(self)));
}

TAEDA_DECOMPOSITION(tanh_backward, (const Tensor& grad_output, const Tensor& output)) {
  const Wide w({&grad_output, &output});
  const Tensor y = w(output);
  return w.rounded(w(grad_output) * (Scalar(1) - y * y).conj());
}

TAEDA_DECOMPOSITION(sigmoid_backward, (const Tensor& grad_output, const Tensor& output)) {
  const Wide w({&grad_output, &output});
  const Tensor y = w(output);
  return w.rounded(w(grad_output) * ((Scalar(1) - y) * y).conj());
}

TAEDA_DECOMPOSITION(native_dropout_backward,
                    (const Tensor& grad_output, const Tensor& mask, double scale)) {
  const Wide w({&grad_output});
  return w.rounded(w(grad_output) * (mask.to(w.compute()) * Scalar(scale)));
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
