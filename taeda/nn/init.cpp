// Initial values of parameters.
#include "taeda/nn/init.h"

#include <algorithm>
#include <cmath>

#include "taeda/autograd/guards.h"
#include "taeda/base/error.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::nn::init {
namespace {

// Half the width of a uniform distribution of this deviation.
double bound_of(double std) { return std::sqrt(3.0) * std; }

double kaiming_std(const Tensor& tensor, double a, FanModeType mode,
                   NonlinearityType nonlinearity) {
  const auto [in, out] = calculate_fan_in_and_fan_out(tensor);
  const auto fan = static_cast<double>(std::holds_alternative<enumtype::kFanIn>(mode) ? in : out);
  return calculate_gain(nonlinearity, a) / std::sqrt(fan);
}

double xavier_std(const Tensor& tensor, double gain) {
  const auto [in, out] = calculate_fan_in_and_fan_out(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(in + out));
}

}  // namespace

double calculate_gain(NonlinearityType nonlinearity, double param) {
  if (std::holds_alternative<enumtype::kTanh>(nonlinearity)) return 5.0 / 3.0;
  if (std::holds_alternative<enumtype::kReLU>(nonlinearity)) return std::sqrt(2.0);
  if (std::holds_alternative<enumtype::kLeakyReLU>(nonlinearity)) {
    return std::sqrt(2.0 / (1 + param * param));
  }
  return 1;
}

std::pair<int64_t, int64_t> calculate_fan_in_and_fan_out(const Tensor& tensor) {
  TAEDA_CHECK(tensor.dim() >= 2,
              "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  int64_t field = 1;
  for (int64_t i = 2; i < tensor.dim(); ++i) field *= tensor.size(i);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

Tensor constant_(Tensor tensor, const Scalar& value) {
  const NoGradGuard no_grad;
  return tensor.fill_(value);
}

Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }
Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }

Tensor dirac_(Tensor tensor) {
  const NoGradGuard no_grad;
  TAEDA_CHECK(tensor.dim() >= 3 && tensor.dim() <= 5,
              "Only tensors with 3, 4, or 5 dimensions are supported");
  tensor.zero_();
  const int64_t shared = std::min(tensor.size(0), tensor.size(1));
  Tensor center = tensor;
  for (int64_t i = 2; i < tensor.dim(); ++i) center = center.select(2, tensor.size(i) / 2);
  center.narrow(0, 0, shared).narrow(1, 0, shared).diagonal().fill_(1);
  return tensor;
}

Tensor eye_(Tensor matrix) {
  const NoGradGuard no_grad;
  TAEDA_CHECK(matrix.dim() == 2, "Only tensors with 2 dimensions are supported");
  matrix.zero_();
  matrix.diagonal().fill_(1);
  return matrix;
}

Tensor normal_(Tensor tensor, double mean, double std) {
  const NoGradGuard no_grad;
  return tensor.normal_(mean, std);
}

Tensor uniform_(Tensor tensor, double low, double high) {
  const NoGradGuard no_grad;
  if (tensor.numel() == 0) return tensor;  // bounds by a fan of zero are infinite
  return tensor.uniform_(low, high);
}

Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  const double std = kaiming_std(tensor, a, mode, nonlinearity);
  return normal_(std::move(tensor), 0, std);
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  const double bound = bound_of(kaiming_std(tensor, a, mode, nonlinearity));
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor orthogonal_(Tensor tensor, double gain) {
  const NoGradGuard no_grad;
  TAEDA_CHECK(tensor.dim() >= 2, "Only tensors with 2 or more dimensions are supported");
  if (tensor.numel() == 0) return tensor;
  const int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  const Tensor drawn = taeda::randn({rows, columns}, tensor.dtype(), {}, tensor.device());
  const bool is_wide = rows < columns;
  const auto [q, r] = taeda::linalg_qr(is_wide ? drawn.t() : drawn);
  const Tensor signed_q = q * r.diagonal().sign();  // uniform over all such matrices
  tensor.copy_((is_wide ? signed_q.t() : signed_q).reshape(tensor.sym_sizes())).mul_(Scalar(gain));
  return tensor;
}

Tensor sparse_(Tensor tensor, double sparsity, double std) {
  const NoGradGuard no_grad;
  TAEDA_CHECK(tensor.dim() == 2, "Only tensors with 2 dimensions are supported");
  const int64_t rows = tensor.size(0);
  const auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  tensor.normal_(0, std);
  for (int64_t column = 0; column < tensor.size(1); ++column) {
    const Tensor places = taeda::randperm(rows).narrow(0, 0, zeros);
    tensor.select(1, column).index_fill_(0, places, 0);
  }
  return tensor;
}

Tensor xavier_normal_(Tensor tensor, double gain) {
  const double std = xavier_std(tensor, gain);
  return normal_(std::move(tensor), 0, std);
}

Tensor xavier_uniform_(Tensor tensor, double gain) {
  const double bound = bound_of(xavier_std(tensor, gain));
  return uniform_(std::move(tensor), -bound, bound);
}

}  // namespace taeda::nn::init
