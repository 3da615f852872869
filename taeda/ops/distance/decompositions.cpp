// Distances between rows as norms of all differences.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/distance/functions.h"
#include "taeda/ops/distance/operators.h"
#include "taeda/ops/functions.h"

namespace taeda {

TAEDA_DECOMPOSITION(_cdist_forward, (const Tensor& x1, const Tensor& x2, double p,
                                     [[maybe_unused]] std::optional<int64_t> compute_mode)) {
  return taeda::linalg_vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), Scalar(p), IntList({-1}));
}

TAEDA_DECOMPOSITION(_pdist_forward, (const Tensor& self, double p)) {
  const int64_t n = self.sym_size(0).expect_int();
  std::vector<Tensor> parts{self.new_empty({SymInt(0)})};
  for (int64_t i = 0; i + 1 < n; ++i) {
    const Tensor rest = self.narrow(0, i + 1, n - i - 1) - self.narrow(0, i, 1);
    parts.push_back(taeda::linalg_vector_norm(rest, Scalar(p), IntList({-1})));
  }
  return taeda::cat(parts);
}

}  // namespace taeda
