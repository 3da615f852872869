// Batching rules of matrix and vector products: the batch joins the leading dimensions.
#include "taeda/ops/linalg/batching.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {
namespace {

void check_rank(const char* op, const char* name, const Batched& b, int64_t rank) {
  TAEDA_CHECK(b.rank() == rank, op, ": Expected ", name, " to be ", rank, "-D, but got ", b.rank(),
              "-D");
}

// Matrices (or stacks of them) of every example, multiplied.
Batched product(const Batched& a, const Batched& b) {
  return {taeda::_batched_matmul(a.front(), b.front()), 0};
}

// beta * self + alpha * value, with `rank` dimensions an example.
Batched combined(const Batched& self, const Scalar& beta, const Tensor& value, const Scalar& alpha,
                 int64_t rank) {
  const Tensor scaled = alpha.equals(1) ? value : value.mul(alpha);
  // `self` is not read then, and may be all that has a batch.
  if (beta.equals(0)) return {scaled, scaled.dim() > rank ? 0 : -1};
  const Tensor addend = self.front_aligned(rank);
  return {scaled.add(beta.equals(1) ? addend : addend.mul(beta)), 0};
}

Batched matrix_vector(const Batched& mat, const Batched& vec) {
  return {taeda::_batched_matmul(mat.front(), vec.front().unsqueeze(-1)).squeeze(-1), 0};
}

}  // namespace

Batched mm(const Batched& self, const Batched& mat2) {
  check_rank("mm", "self", self, 2);
  check_rank("mm", "mat2", mat2, 2);
  return product(self, mat2);
}

Batched bmm(const Batched& self, const Batched& mat2) {
  check_rank("bmm", "batch1", self, 3);
  check_rank("bmm", "batch2", mat2, 3);
  TAEDA_CHECK(self.front().sym_size(-3) == mat2.front().sym_size(-3),
              "Expected size for first two dimensions of batch2 tensor to match batch1's");
  return product(self, mat2);
}

Batched _batched_matmul(const Batched& self, const Batched& other) {
  const int64_t rank = std::max(self.rank(), other.rank());
  return {taeda::_batched_matmul(self.front_aligned(rank), other.front_aligned(rank)), 0};
}

Batched addmm(const Batched& self, const Batched& mat1, const Batched& mat2, const Scalar& beta,
              const Scalar& alpha) {
  const Batched value = mat1.is_batched() || mat2.is_batched()
                            ? mm(mat1, mat2)
                            : Batched(taeda::mm(mat1.value, mat2.value), -1);
  return combined(self, beta, value.value, alpha, 2);
}

Batched baddbmm(const Batched& self, const Batched& batch1, const Batched& batch2,
                const Scalar& beta, const Scalar& alpha) {
  const Batched value = batch1.is_batched() || batch2.is_batched()
                            ? bmm(batch1, batch2)
                            : Batched(taeda::bmm(batch1.value, batch2.value), -1);
  return combined(self, beta, value.value, alpha, 3);
}

Batched addbmm(const Batched& self, const Batched& batch1, const Batched& batch2,
               const Scalar& beta, const Scalar& alpha) {
  const Tensor value = batch1.is_batched() || batch2.is_batched()
                           ? bmm(batch1, batch2).value
                           : taeda::bmm(batch1.value, batch2.value);
  return combined(self, beta, value.sum(IntList({-3})), alpha, 2);
}

Batched mv(const Batched& self, const Batched& vec) {
  check_rank("mv", "self", self, 2);
  check_rank("mv", "vec", vec, 1);
  return matrix_vector(self, vec);
}

Batched addmv(const Batched& self, const Batched& mat, const Batched& vec, const Scalar& beta,
              const Scalar& alpha) {
  const Tensor value =
      mat.is_batched() || vec.is_batched() ? mv(mat, vec).value : taeda::mv(mat.value, vec.value);
  return combined(self, beta, value, alpha, 1);
}

Batched dot(const Batched& self, const Batched& tensor) {
  check_rank("dot", "self", self, 1);
  check_rank("dot", "tensor", tensor, 1);
  TAEDA_CHECK(self.front().sym_size(-1) == tensor.front().sym_size(-1),
              "inconsistent tensor size, expected tensor [", self.front().sym_size(-1),
              "] and src [", tensor.front().sym_size(-1), "] to have the same number of elements");
  return {taeda::_batched_matmul(self.front().unsqueeze(-2), tensor.front().unsqueeze(-1))
              .squeeze(-1)
              .squeeze(-1),
          0};
}

Batched vdot(const Batched& self, const Batched& other) {
  return dot({self.value.conj(), self.dim}, other);
}

Batched linear(const Batched& input, const Batched& weight, const Batched& bias) {
  if (!weight.is_batched() && !bias.is_batched())
    return {taeda::linear(input.front(), weight.value, bias.value), 0};
  Tensor out;
  if (!weight.is_batched()) {
    out = taeda::linear(input.front(), weight.value);
  } else if (weight.rank() == 1) {
    const Tensor w = weight.front_aligned(input.rank());
    out = input.front().mul(w).sum(IntList({-1}));
  } else {
    // A vector is one row for the product.
    const bool is_vector = input.rank() == 1;
    const Tensor x = is_vector ? input.front().unsqueeze(-2) : input.front();
    const Batched rows(x, input.dim < 0 ? -1 : 0);
    const Batched turned(weight.front().transpose(-2, -1), 0);
    out = _batched_matmul(rows, turned).value;
    if (is_vector) out = out.squeeze(-2);
  }
  if (!bias.defined()) return {out, 0};
  const bool is_out_batched = input.is_batched() || weight.is_batched();
  return {out.add(bias.front_aligned(out.dim() - (is_out_batched ? 1 : 0))), 0};
}

}  // namespace taeda::batch
