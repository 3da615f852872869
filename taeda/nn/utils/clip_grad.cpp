// Gradients kept within bounds.
#include "taeda/nn/utils/clip_grad.h"

#include <cmath>

#include "taeda/autograd/guards.h"
#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::nn::utils {
namespace {

std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> out;
  for (const Tensor& parameter : parameters) {
    if (parameter.grad().defined()) out.push_back(parameter.grad());
  }
  return out;
}

}  // namespace

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const NoGradGuard no_grad;
  std::vector<Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) return 0;
  std::vector<Tensor> norms;
  for (const Tensor& grad : gradients) {
    const Tensor norm = taeda::linalg_vector_norm(grad, norm_type);
    norms.push_back(norm.to(gradients[0].device(), norm.dtype()));
  }
  const Tensor total = taeda::linalg_vector_norm(taeda::stack(norms), norm_type);
  const double value = total.item<double>();
  TAEDA_CHECK(!error_if_nonfinite || std::isfinite(value), "The total norm of order ", norm_type,
              " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable "
              "this error and scale the gradients with the non-finite norm anyway, set "
              "`error_if_nonfinite=false`");
  const Tensor scale = (total + 1e-6).reciprocal().mul(max_norm).clamp_max(1.0);
  for (Tensor& grad : gradients) grad.mul_(scale.to(grad.device(), scale.dtype()));
  return value;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  const NoGradGuard no_grad;
  for (Tensor& grad : gradients_of(parameters)) grad.clamp_(-clip_value, clip_value);
}

}  // namespace taeda::nn::utils
