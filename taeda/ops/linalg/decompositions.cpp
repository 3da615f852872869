// Matrix products outside the core set as functions of mm, bmm and addmm.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/linalg/rules.h"

namespace taeda {
namespace {

// Factors of integers are integers.
Scalar factor_of(const Tensor& t, const Scalar& by) {
  const bool is_cut = is_integral(t.dtype(), true) && by.is_floating();
  return is_cut ? Scalar(static_cast<int64_t>(by.to<double>())) : by;
}

Tensor scaled(const Tensor& t, const Scalar& by) { return by.equals(1) ? t : t * by; }

// beta * self + alpha * product; with a beta of zero self is not read.
Tensor added(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  const Tensor right = scaled(product, factor_of(product, alpha));
  const Scalar left = factor_of(self, beta);
  return left.equals(0) ? right : scaled(self, left) + right;
}

Tensor inner_product(const Tensor& a, const Tensor& b) {
  return taeda::squeeze(taeda::mm(a.unsqueeze(0), b.unsqueeze(1)), IntList({0, 1}));
}

}  // namespace

TAEDA_DECOMPOSITION(baddbmm, (const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                              const Scalar& beta, const Scalar& alpha)) {
  return added(self, taeda::bmm(batch1, batch2), beta, alpha);
}

TAEDA_DECOMPOSITION(addbmm, (const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                             const Scalar& beta, const Scalar& alpha)) {
  const Tensor total = ops::sum_dim_IntList(taeda::bmm(batch1, batch2), IntList({0}), false, {});
  return added(self, total, beta, alpha);
}

TAEDA_DECOMPOSITION(addmv, (const Tensor& self, const Tensor& mat, const Tensor& vec,
                            const Scalar& beta, const Scalar& alpha)) {
  const Tensor column = self.dim() == 0 ? self : self.unsqueeze(1);
  return taeda::squeeze(taeda::addmm(column, mat, vec.unsqueeze(1), beta, alpha), int64_t{1});
}

TAEDA_DECOMPOSITION(mv, (const Tensor& self, const Tensor& vec)) {
  return taeda::squeeze(taeda::mm(self, vec.unsqueeze(1)), int64_t{1});
}

TAEDA_DECOMPOSITION(dot, (const Tensor& self, const Tensor& tensor)) {
  return inner_product(self, tensor);
}
TAEDA_DECOMPOSITION(vdot, (const Tensor& self, const Tensor& other)) {
  return inner_product(self.conj(), other);
}

TAEDA_DECOMPOSITION(_batched_matmul, (const Tensor& self, const Tensor& other)) {
  return batched_by_bmm(self, other);
}
TAEDA_DECOMPOSITION(linear, (const Tensor& input, const Tensor& weight, const Tensor& bias)) {
  return linear_by_parts(input, weight, bias);
}

}  // namespace taeda
