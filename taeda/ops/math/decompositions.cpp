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

}  // namespace taeda
