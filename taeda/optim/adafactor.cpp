// Adafactor.
#include "taeda/optim/adafactor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "taeda/base/error.h"
#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {
namespace {

// The distance from one to the next number.
double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::Double: return std::numeric_limits<double>::epsilon();
    case DType::Half: return 0x1p-10;
    case DType::BFloat16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}

double root_mean_square(const Tensor& x) {
  return taeda::linalg_vector_norm(x).item<double>() / std::sqrt(static_cast<double>(x.numel()));
}

Tensor mean_square(const Tensor& x, int64_t dim) {
  Tensor norm = taeda::linalg_vector_norm(x, 2, IntList({dim}), /*keepdim=*/true);
  return norm.square_().div_(x.size(dim));
}

void make_sums(const Tensor& grad, AdafactorParamState& state) {
  if (grad.dim() < 2) {
    state.variance(taeda::zeros_like(grad));
    return;
  }
  std::vector<int64_t> rows(grad.sizes().begin(), grad.sizes().end());
  std::vector<int64_t> columns = rows;
  rows.back() = 1;
  columns[columns.size() - 2] = 1;
  state.row_var(grad.new_zeros(rows));
  state.col_var(grad.new_zeros(columns));
}

}  // namespace

void AdafactorOptions::check() const {
  const auto [eps1, eps2] = eps();
  TAEDA_CHECK_VALUE(lr() >= 0, "Learning rate should be >= 0 but is: ", lr());
  TAEDA_CHECK_VALUE(beta2_decay() <= 0, "beta2_decay should be <= 0 but is: ", beta2_decay());
  TAEDA_CHECK_VALUE(!eps1 || *eps1 >= 0, "epsilon1 should be >= 0 but is: ", *eps1);
  TAEDA_CHECK_VALUE(eps2 >= 0, "epsilon2 should be >= 0 but is: ", eps2);
  TAEDA_CHECK_VALUE(d() >= 1, "Clipping threshold d should be >= 1 but is: ", d());
  TAEDA_CHECK_VALUE(weight_decay() >= 0, "weight_decay should be >= 0 but is: ", weight_decay());
}

void Adafactor::update(Tensor& parameter, const Tensor& grad, const AdafactorOptions& options,
                       AdafactorParamState& state) {
  TAEDA_CHECK(!parameter.is_complex(), "Adafactor does not support complex parameters");
  if (state.step() == 0) make_sums(grad, state);
  const auto step = static_cast<double>(++state.step());
  const double lr = options.lr();
  const double eps1 = std::get<0>(options.eps()).value_or(epsilon_of(parameter.dtype()));
  const double weight = std::pow(step, options.beta2_decay());
  const double size = std::max(std::get<1>(options.eps()), root_mean_square(parameter)) *
                      std::min(lr, 1 / std::sqrt(step));
  if (options.weight_decay() != 0) parameter.mul_(1 - lr * options.weight_decay());
  Tensor estimate;
  if (state.variance().defined()) {
    state.variance().lerp_(grad.mul(grad), weight);
    estimate = state.variance().clone();
  } else {
    Tensor& rows = state.row_var().lerp_(mean_square(grad, -1), weight);
    Tensor& columns = state.col_var().lerp_(mean_square(grad, -2), weight);
    estimate = rows.matmul(columns);
    estimate.div_(rows.mean({-2}, /*keepdim=*/true).clamp_min_(eps1));
  }
  const Tensor change = estimate.clamp_min_(eps1 * eps1).rsqrt_().mul_(grad);
  parameter.add_(change, -size / std::max(1.0, root_mean_square(change) / options.d()));
}

}  // namespace taeda::optim
