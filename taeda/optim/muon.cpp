// Muon.
#include "taeda/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "taeda/base/error.h"
#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {
namespace {

// A matrix with about the singular vectors of `grad` and singular values near one, by an iteration
// of Newton and Schulz in bfloat16: X becomes aX + (bA + cA²)X with A = XXᵀ.
Tensor orthogonalized(const Tensor& grad, const MuonOptions& options) {
  const auto [a, b, c] = options.ns_coefficients();
  const bool is_tall = grad.size(0) > grad.size(1);
  Tensor x = grad.to(kBFloat16, /*non_blocking=*/false, /*copy=*/true);
  if (is_tall) x = x.t();
  x.div_(taeda::linalg_vector_norm(x).clamp_min_(options.eps()));
  for (int64_t i = 0; i < options.ns_steps(); ++i) {
    const Tensor gram = x.mm(x.t());
    x = taeda::addmm(x, taeda::addmm(gram, gram, gram, b, c), x, a);
  }
  return is_tall ? x.t() : x;
}

double rate_for(const Tensor& parameter, const MuonOptions& options) {
  const auto rows = static_cast<double>(parameter.size(0));
  const auto columns = static_cast<double>(parameter.size(1));
  if (options.adjust_lr_fn() == "match_rms_adamw") {
    return options.lr() * 0.2 * std::sqrt(std::max(rows, columns));
  }
  return options.lr() * std::sqrt(std::max(1.0, rows / columns));
}

void check_matrices(const std::vector<Tensor>& parameters) {
  for (const Tensor& parameter : parameters) {
    TAEDA_CHECK_VALUE(parameter.dim() == 2,
                      "Muon only supports 2D parameters whereas we found a parameter with size: ",
                      parameter.sizes());
  }
}

}  // namespace

Muon::Muon(std::vector<OptimizerParamGroup> groups, MuonOptions defaults)
    : StepwiseOptimizer(std::move(groups), std::move(defaults)) {
  check_matrices(parameters());
}

Muon::Muon(std::vector<Tensor> params, MuonOptions defaults)
    : StepwiseOptimizer(std::move(params), std::move(defaults)) {
  check_matrices(parameters());
}

void MuonOptions::check() const {
  TAEDA_CHECK_VALUE(lr() >= 0, "Learning rate should be >= 0 but is: ", lr());
  TAEDA_CHECK_VALUE(momentum() >= 0, "momentum should be >= 0 but is: ", momentum());
  TAEDA_CHECK_VALUE(weight_decay() >= 0, "weight decay should be >= 0 but is: ", weight_decay());
  const std::string adjust = adjust_lr_fn().value_or("original");
  TAEDA_CHECK_VALUE(adjust == "original" || adjust == "match_rms_adamw",
                    "Adjust learning rate function ", adjust, " is not supported");
  TAEDA_CHECK_VALUE(ns_steps() < 100,
                    "Number of steps must be less than 100 for computational efficiency");
}

void Muon::update(Tensor& parameter, const Tensor& grad, const MuonOptions& options,
                  MuonParamState& state) {
  TAEDA_CHECK(!parameter.is_complex(), "Muon does not support complex parameters");
  if (!state.momentum_buffer().defined()) state.momentum_buffer(taeda::zeros_like(grad));
  Tensor& buffer = state.momentum_buffer();
  const double momentum = options.momentum();
  buffer.lerp_(grad, 1 - momentum);
  const Tensor change =
      orthogonalized(options.nesterov() ? grad.lerp(buffer, momentum) : buffer, options);
  parameter.mul_(1 - options.lr() * options.weight_decay());
  parameter.add_(change, -rate_for(parameter, options));
}

}  // namespace taeda::optim
