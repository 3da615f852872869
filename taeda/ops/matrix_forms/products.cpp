// Products of several matrices, in the order that needs the fewest multiplications.
#include <vector>

#include "taeda/ops/cpp_name.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/matrix_forms/declarations.h"
#include "taeda/ops/matrix_forms/functions.h"
#include "taeda/ops/out_alias.h"

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
  // The product of all, the last multiplication of which writes `out`.
  void write_product(const std::vector<Tensor>& matrices, Tensor& out) const {
    const size_t at = split_[n_ - 1];
    taeda::mm_out(out, product(matrices, 0, at), product(matrices, at + 1, n_ - 1));
  }

 private:
  size_t n_;
  std::vector<size_t> split_;
};

void check_chain(const std::vector<Tensor>& matrices) {
  for (size_t i = 0; i + 1 < matrices.size(); ++i) {
    TAEDA_CHECK(matrices[i].dtype() == matrices[i + 1].dtype(),
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
                cpp_name(matrices[0].dtype()), " and tensor ", i + 1, " ",
                cpp_name(matrices[i + 1].dtype()));
    TAEDA_CHECK(matrices[i].device() == matrices[i + 1].device(),
                "multi_dot(): all tensors must be on the same device but tensor 0 is on ",
                matrices[0].device(), " and tensor ", i + 1, " on ", matrices[i + 1].device());
    TAEDA_CHECK(matrices[i].sym_size(1) == matrices[i + 1].sym_size(0), "multi_dot(): tensors ", i,
                " and ", i + 1, " with shapes ", matrices[i].sym_sizes(), " and ",
                matrices[i + 1].sym_sizes(), " cannot be multiplied");
  }
}

// Matrices to multiply; a vector in front is one row, one behind is one column.
struct Chain {
  std::vector<Tensor> matrices;
  bool starts_flat, ends_flat;

  explicit Chain(TensorList tensors) : matrices(tensors.begin(), tensors.end()) {
    const size_t n = tensors.size();
    TAEDA_CHECK(n >= 2, "multi_dot(): expected at least 2 tensors but got ", n);
    starts_flat = matrices[0].dim() == 1;
    ends_flat = matrices[n - 1].dim() == 1;
    if (starts_flat) matrices[0] = matrices[0].unsqueeze(0);
    if (ends_flat) matrices[n - 1] = matrices[n - 1].unsqueeze(1);
    TAEDA_CHECK(matrices[0].dim() == 2, "multi_dot(): the first tensor must be 1D or 2D but got ",
                tensors[0].dim(), "D");
    TAEDA_CHECK(matrices[n - 1].dim() == 2,
                "multi_dot(): the last tensor must be 1D or 2D but got ", tensors[n - 1].dim(),
                "D");
    for (size_t i = 1; i + 1 < n; ++i)
      TAEDA_CHECK(matrices[i].dim() == 2, "multi_dot(): tensor ", i, " must be 2D but got ",
                  matrices[i].dim(), "D");
    check_chain(matrices);
  }
  // Fits `out` to the product; the result is its view as a matrix.
  Tensor prepared(Tensor& out, TensorList inputs) const {
    const Tensor& first = matrices[0];
    TAEDA_CHECK(out.dtype() == first.dtype(), "multi_dot(): expected out tensor to have dtype ",
                cpp_name(first.dtype()), " but got ", cpp_name(out.dtype()));
    TAEDA_CHECK(out.device() == first.device(), "multi_dot(): expected out tensor to be on device ",
                first.device(), " but got ", out.device());
    SymIntVec sizes;
    if (!starts_flat) sizes.push_back(first.sym_size(0));
    if (!ends_flat) sizes.push_back(matrices.back().sym_size(1));
    const OutSpec spec(SymIntList(sizes), first.dtype(), first.device());
    check_keeps_input(spec, out, inputs);
    spec.prepare_out(out, "linalg_multi_dot");
    Tensor matrix = out;
    if (starts_flat) matrix = matrix.unsqueeze(0);
    return ends_flat ? matrix.unsqueeze(-1) : matrix;
  }
};

}  // namespace

Tensor linalg_multi_dot(TensorList tensors) {
  const Chain chain(tensors);
  Tensor out = ProductOrder(chain.matrices).product(chain.matrices, 0, tensors.size() - 1);
  if (chain.starts_flat) out = out.squeeze(0);
  return chain.ends_flat ? out.squeeze(-1) : out;
}
Tensor& linalg_multi_dot_out(TensorList tensors, Tensor& out) {
  const Chain chain(tensors);
  Tensor matrix = chain.prepared(out, tensors);
  ProductOrder(chain.matrices).write_product(chain.matrices, matrix);
  return out;
}

namespace {

void check_matrices(TensorList matrices) {
  for (size_t i = 0; i < matrices.size(); ++i)
    TAEDA_CHECK(matrices[i].dim() == 2, "Tensor ", i, " must be 2 dimensional");
  TAEDA_CHECK(matrices.size() > 0, "chain_matmul(): Expected one or more matrices");
}

}  // namespace

Tensor chain_matmul(TensorList matrices) {
  check_matrices(matrices);
  return matrices.size() == 1 ? matrices[0].clone() : taeda::linalg_multi_dot(matrices);
}
Tensor& chain_matmul_out(TensorList matrices, Tensor& out) {
  check_matrices(matrices);
  if (matrices.size() > 1) return taeda::linalg_multi_dot_out(out, matrices);
  resize_output(out, matrices[0].sym_sizes());
  return out.copy_(matrices[0]);
}

namespace {

void check_power(const Tensor& self) {
  TAEDA_CHECK(self.dim() >= 2,
              "linalg.matrix_power: The input tensor must have at least 2 "
              "dimensions.");
  TAEDA_CHECK(self.sym_size(-1) == self.sym_size(-2),
              "linalg.matrix_power: A must be batches of square matrices, but they are ",
              self.sym_size(-2), " by ", self.sym_size(-1), " matrices");
}

// Squares, and the product of those whose bit n has, for n > 1; `last` multiplies the last pair.
template <class Last>
auto power_of(const Tensor& self, int64_t n, Last&& last) {
  Tensor square = self, made;
  for (int64_t rest = n; rest > 1; rest >>= 1) {
    if (rest & 1) made = made.defined() ? made.matmul(square) : square;
    if (rest < 4 && !made.defined()) return last(square, square);
    square = square.matmul(square);
  }
  return last(made, square);
}

}  // namespace

Tensor linalg_matrix_power(const Tensor& self, int64_t n) {
  check_power(self);
  if (n == -1) return taeda::linalg_inv(self);
  if (n < 0) return taeda::linalg_matrix_power(taeda::linalg_inv(self), -n);
  if (n == 0) {
    const Tensor ones = taeda::ones_like(self.diagonal(0, -2, -1));
    return self.clone().copy_(taeda::diag_embed(ones));
  }
  if (n == 1) return self.clone();
  return power_of(self, n, [](const Tensor& a, const Tensor& b) { return a.matmul(b); });
}
Tensor& linalg_matrix_power_out(const Tensor& self, int64_t n, Tensor& out) {
  check_power(self);
  TAEDA_CHECK(can_cast(self.dtype(), out.dtype()),
              "matrix_power: Expected result to be safely castable from ", self.dtype(),
              " dtype, but got result with dtype ", out.dtype());
  if (n == -1) return taeda::linalg_inv_out(out, self);
  if (n < 0) return taeda::linalg_matrix_power_out(out, taeda::linalg_inv(self), -n);
  resize_output(out, self.sym_sizes());
  if (n == 0) {
    out.zero_();
    out.diagonal(0, -2, -1).fill_(Scalar(1));
    return out;
  }
  if (n == 1) return out.copy_(self);
  power_of(self, n, [&](const Tensor& a, const Tensor& b) { taeda::matmul_out(out, a, b); });
  return out;
}
Tensor matrix_power(const Tensor& self, int64_t n) { return taeda::linalg_matrix_power(self, n); }
Tensor& matrix_power_out(const Tensor& self, int64_t n, Tensor& out) {
  return taeda::linalg_matrix_power_out(out, self, n);
}

}  // namespace taeda::impl
