// Derivatives of distances between rows, from kernels or from all differences.
#include "taeda/ops/distance/gradients.h"

#include <cmath>

#include "taeda/ops/distance/functions.h"
#include "taeda/ops/distance/vector_norm.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {
namespace {

Tensor differences(const Tensor& x1, const Tensor& x2) {
  return x1.unsqueeze(-2).sub(x2.unsqueeze(-3));
}

// The derivative of the norm along the last dimension by each difference; zero where the norm is.
Tensor norm_slope(const Tensor& difference, double p) {
  if (p == 0) return taeda::zeros_like(difference);
  if (p == 1) return difference.sign();
  const Tensor norm = vector_norm(difference, p, {-1}, /*keepdim=*/true);
  const Tensor is_zero = norm.eq(Scalar(0));
  if (std::isinf(p)) {
    const Tensor is_largest = difference.abs().eq(norm).to(difference.dtype());
    return difference.sign().mul(is_largest).masked_fill(is_zero, Scalar(0));
  }
  const Tensor safe = norm.masked_fill(is_zero, Scalar(1));
  if (p == 2) return difference.div(safe).masked_fill(is_zero, Scalar(0));
  const Tensor is_flat = difference.eq(Scalar(0));
  const Tensor size = difference.masked_fill(is_flat, Scalar(1)).abs();
  const Tensor slope = difference.sign().mul(size.div(safe).pow(Scalar(p - 1)));
  return slope.masked_fill(is_flat.logical_or(is_zero), Scalar(0));
}

// Both rows of each pair i < j.
struct Pairs {
  Tensor first, second;

  explicit Pairs(const Tensor& self) {
    const int64_t n = self.sym_size(0).expect_int();
    const Tensor rows = taeda::arange(Scalar(n), DType::Int64, {}, self.device());
    const Tensor i = rows.unsqueeze(1).expand({SymInt(n), SymInt(n)}),
                 j = rows.unsqueeze(0).expand({SymInt(n), SymInt(n)});
    const Tensor is_pair = i.lt(j);
    first = i.masked_select(is_pair);
    second = j.masked_select(is_pair);
  }
  Tensor between(const Tensor& rows) const {
    return rows.index_select(0, first).sub(rows.index_select(0, second));
  }
};

}  // namespace

Tensor cdist_gradient(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                      const Tensor& distances, bool is_recorded) {
  if (!is_recorded)
    return sum_to(taeda::_cdist_backward(grad.contiguous(), x1, x2, p, distances), x1.sym_sizes());
  const Tensor slope = norm_slope(differences(x1, x2), p);
  return sum_to(slope.mul(grad.unsqueeze(-1)).sum(IntList({-2})), x1.sym_sizes());
}

Tensor pdist_gradient(const Tensor& grad, const Tensor& self, double p, const Tensor& distances,
                      bool is_recorded) {
  if (!is_recorded) return taeda::_pdist_backward(grad, self.contiguous(), p, distances);
  const Pairs pairs(self);
  const Tensor each = norm_slope(pairs.between(self), p).mul(grad.unsqueeze(-1));
  const Tensor none = taeda::zeros_like(self);
  return none.index_add(0, pairs.first, each).sub(none.index_add(0, pairs.second, each));
}

Tensor euclidean_dist_gradient(const Tensor& grad, const Tensor& x1, const Tensor& x2,
                               const Tensor& distances) {
  const Tensor is_zero = distances.eq(Scalar(0));
  const Tensor ratio =
      grad.div(distances.masked_fill(is_zero, Scalar(1))).masked_fill(is_zero, Scalar(0));
  return x1.mul(ratio.sum(IntList({-1}), /*keepdim=*/true)).sub(ratio.matmul(x2));
}

Tensor cdist_tangent(const Tensor& x1, const Tensor& x1_tangent, const Tensor& x2,
                     const Tensor& x2_tangent, double p) {
  const Tensor slope = norm_slope(differences(x1, x2), p);
  return slope.mul(differences(x1_tangent, x2_tangent)).sum(IntList({-1}));
}

Tensor pdist_tangent(const Tensor& self, const Tensor& tangent, double p) {
  const Pairs pairs(self);
  return norm_slope(pairs.between(self), p).mul(pairs.between(tangent)).sum(IntList({-1}));
}

}  // namespace taeda::gradients
