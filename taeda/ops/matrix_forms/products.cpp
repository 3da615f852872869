// Products of several matrices, in the order that needs the fewest multiplications.
#include <vector>

#include "taeda/ops/functions.h"
#include "taeda/ops/matrix_forms/declarations.h"
#include "taeda/ops/matrix_forms/functions.h"

namespace taeda::impl {
namespace {

// Where each run of matrices is split: the classic table of costs over all runs.
class ProductOrder {
 public:
  explicit ProductOrder(const std::vector<Tensor>& matrices)
      : n_(matrices.size()), split_(n_ * n_, 0) {
    SymIntVec sizes{matrices[0].sym_size(0)};
    for (const Tensor& m : matrices) sizes.push_back(m.sym_size(1));
    std::vector<SymInt> costs(n_ * n_, SymInt(0));
    for (size_t length = 1; length < n_; ++length)
      for (size_t from = 0; from + length < n_; ++from) {
        const size_t to = from + length;
        SymInt least;
        for (size_t at = from; at < to; ++at) {
          const SymInt cost = costs[from * n_ + at] + costs[(at + 1) * n_ + to] +
                              sizes[from] * sizes[at + 1] * sizes[to + 1];
          if (at == from || cost < least) {
            least = cost;
            split_[from * n_ + to] = at;
          }
        }
        costs[from * n_ + to] = least;
      }
  }
  Tensor product(const std::vector<Tensor>& matrices, size_t from, size_t to) const {
    if (from == to) return matrices[from];
    const size_t at = split_[from * n_ + to];
    return taeda::mm(product(matrices, from, at), product(matrices, at + 1, to));
  }

 private:
  size_t n_;
  std::vector<size_t> split_;
};

void check_chain(const std::vector<Tensor>& matrices) {
  for (size_t i = 0; i + 1 < matrices.size(); ++i) {
    TAEDA_CHECK(matrices[i].dtype() == matrices[i + 1].dtype(),
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
                matrices[0].dtype(), " and tensor ", i + 1, " ", matrices[i + 1].dtype());
    TAEDA_CHECK(matrices[i].device() == matrices[i + 1].device(),
                "multi_dot(): all tensors must be on the same device but tensor 0 is on ",
                matrices[0].device(), " and tensor ", i + 1, " on ", matrices[i + 1].device());
    TAEDA_CHECK(matrices[i].sym_size(1) == matrices[i + 1].sym_size(0), "multi_dot(): tensors ", i,
                " and ", i + 1, " with shapes ", matrices[i].sym_sizes(), " and ",
                matrices[i + 1].sym_sizes(), " cannot be multiplied");
  }
}

Tensor& written_product(const char* op, const Tensor& result, Tensor& out) {
  OutSpec(result.sym_sizes(), result.dtype(), result.device()).prepare_out(out, op);
  return out.copy_(result);
}

}  // namespace

Tensor linalg_multi_dot(TensorList tensors) {
  const size_t n = tensors.size();
  TAEDA_CHECK(n >= 2, "multi_dot(): expected at least 2 tensors but got ", n);
  std::vector<Tensor> matrices(tensors.begin(), tensors.end());
  const bool starts_flat = matrices[0].dim() == 1, ends_flat = matrices[n - 1].dim() == 1;
  if (starts_flat) matrices[0] = matrices[0].unsqueeze(0);
  if (ends_flat) matrices[n - 1] = matrices[n - 1].unsqueeze(1);
  TAEDA_CHECK(matrices[0].dim() == 2, "multi_dot(): the first tensor must be 1D or 2D but got ",
              tensors[0].dim(), "D");
  TAEDA_CHECK(matrices[n - 1].dim() == 2, "multi_dot(): the last tensor must be 1D or 2D but got ",
              tensors[n - 1].dim(), "D");
  for (size_t i = 1; i + 1 < n; ++i)
    TAEDA_CHECK(matrices[i].dim() == 2, "multi_dot(): tensor ", i, " must be 2D but got ",
                matrices[i].dim(), "D");
  check_chain(matrices);
  Tensor out = ProductOrder(matrices).product(matrices, 0, n - 1);
  if (starts_flat) out = out.squeeze(0);
  return ends_flat ? out.squeeze(-1) : out;
}
Tensor& linalg_multi_dot_out(TensorList tensors, Tensor& out) {
  return written_product("linalg_multi_dot", impl::linalg_multi_dot(tensors), out);
}

Tensor chain_matmul(TensorList matrices) {
  for (size_t i = 0; i < matrices.size(); ++i)
    TAEDA_CHECK(matrices[i].dim() == 2, "Tensor ", i, " must be 2 dimensional");
  TAEDA_CHECK(matrices.size() > 0, "chain_matmul(): Expected one or more matrices");
  return matrices.size() == 1 ? matrices[0].clone() : taeda::linalg_multi_dot(matrices);
}
Tensor& chain_matmul_out(TensorList matrices, Tensor& out) {
  return written_product("chain_matmul", impl::chain_matmul(matrices), out);
}

Tensor linalg_matrix_power(const Tensor& self, int64_t n) {
  TAEDA_CHECK(self.dim() >= 2,
              "linalg.matrix_power: The input tensor must have at least 2 "
              "dimensions.");
  TAEDA_CHECK(self.sym_size(-1) == self.sym_size(-2),
              "linalg.matrix_power: A must be batches of square matrices, but they are ",
              self.sym_size(-2), " by ", self.sym_size(-1), " matrices");
  TAEDA_CHECK_NOT_IMPLEMENTED(n >= 0, "linalg.matrix_power: got the power ", n,
                              ", which needs an inverse; powers from 0 on are supported");
  if (n == 0) {
    const Tensor ones = taeda::ones_like(self.diagonal(0, -2, -1));
    return self.clone().copy_(taeda::diag_embed(ones));
  }
  // Squares, and the product of those whose bit n has.
  Tensor square = self, out;
  for (int64_t rest = n; rest > 0; rest >>= 1) {
    if (rest & 1) out = out.defined() ? out.matmul(square) : square;
    if (rest > 1) square = square.matmul(square);
  }
  return n == 1 ? out.clone() : out;
}
Tensor& linalg_matrix_power_out(const Tensor& self, int64_t n, Tensor& out) {
  return written_product("linalg_matrix_power", impl::linalg_matrix_power(self, n), out);
}
Tensor matrix_power(const Tensor& self, int64_t n) { return taeda::linalg_matrix_power(self, n); }
Tensor& matrix_power_out(const Tensor& self, int64_t n, Tensor& out) {
  return taeda::linalg_matrix_power_out(out, self, n);
}

}  // namespace taeda::impl
