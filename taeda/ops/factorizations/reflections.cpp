// A product of reflections as one matrix, in terms of other operators.
#include "taeda/ops/factorizations/reflections.h"

#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/functions.h"

namespace taeda {

Reflections::Reflections(const Tensor& input, const Tensor& tau) {
  const SymInt m = input.sym_size(-2), k = tau.sym_size(-1);
  const Tensor ones = taeda::eye(m, k, input.dtype(), std::nullopt, input.device());
  v = input.narrow(-1, 0, k).tril(-1).add(ones);
  top = v.narrow(-2, 0, input.sym_size(-1));
  s = taeda::adjoint(v).matmul(v).triu(1);
  const Tensor diagonal =
      taeda::eye(k, input.dtype(), std::nullopt, input.device()).mul(tau.unsqueeze(-2));
  t = taeda::linalg_solve_triangular(s.mul(tau.unsqueeze(-2)), diagonal, /*upper=*/true,
                                     /*left=*/false, /*unitriangular=*/true);
}

Tensor Reflections::product() const {
  const Tensor ones =
      taeda::eye(v.sym_size(-2), top.sym_size(-2), v.dtype(), std::nullopt, v.device());
  return ones.sub(v.matmul(t.matmul(taeda::adjoint(top))));
}

}  // namespace taeda
