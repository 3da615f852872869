// Derivative helpers of reductions.
#include "taeda/ops/reduction/gradients.h"
#include "taeda/core/unbacked.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/shape.h"

namespace taeda::gradients {
namespace {

// The number of reduced elements, to divide by.
Scalar reduced_count(SymIntList sizes, std::optional<IntList> dim) {
  const int64_t ndim = static_cast<int64_t>(sizes.size());
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), ndim, true);
  SymInt count = 1;
  for (int64_t i = 0; i < ndim; ++i)
    if (bits >> i & 1) count *= sizes[i];
  return count.is_symbolic() ? Scalar(count) : Scalar(static_cast<double>(count.word()));
}

// grad and result have `dim` as a one.
Tensor prod_along(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  if (self.sym_size(dim) == SymInt(1)) return grad;
  if (!may_have_zeros(self)) return grad * (result / self).conj();
  const Tensor before = exclusive_cumprod(self, dim);
  const int64_t dims[] = {dim};
  const Tensor after = exclusive_cumprod(self.flip(dims), dim).flip(dims);
  return grad * (before * after).conj();
}

}  // namespace

Tensor exclusive_cumprod(const Tensor& x, int64_t dim) {
  const SymInt n = x.sym_size(dim);
  if (!known(SymOp::Gt, n, 0)) {  // where there may be none, one more is cut off
    SymIntVec sizes(x.sym_sizes());
    sizes[static_cast<size_t>(wrap_dim(dim, x.dim()))] = 1;
    const Tensor ones = x.new_ones(SymIntList(sizes));
    return taeda::cat({ones, x}, dim).narrow(dim, 0, n).cumprod(dim);
  }
  const Tensor ones = taeda::ones_like(x.narrow(dim, 0, 1));
  return taeda::cat({ones, x.narrow(dim, 0, n - SymInt(1))}, dim).cumprod(dim);
}

Tensor restore_reduced(const Tensor& reduced, int64_t ndim, std::optional<IntList> dim,
                       bool keepdim) {
  if (keepdim || ndim == 0) return reduced;
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), ndim, true);
  SymIntVec sizes;
  for (int64_t i = 0, at = 0; i < ndim; ++i)
    sizes.push_back(bits >> i & 1 ? SymInt(1) : reduced.sym_size(at++));
  return reduced.reshape(sizes);
}

Tensor expand_reduced(const Tensor& grad, SymIntList sizes, std::optional<IntList> dim,
                      bool keepdim) {
  return restore_reduced(grad, static_cast<int64_t>(sizes.size()), dim, keepdim).expand(sizes);
}

Tensor reduced_sum_backward(const Tensor& grad, SymIntList sizes, DType dtype,
                            std::optional<IntList> dim, bool keepdim) {
  return expand_reduced(cast_gradient(grad, dtype), sizes, dim, keepdim);
}

Tensor mean_backward(const Tensor& grad, SymIntList sizes, DType dtype, std::optional<IntList> dim,
                     bool keepdim) {
  // Divided after the expansion, as in PyTorch: each element is a place of its own, in which
  // callers of autograd.grad may write.
  const Tensor shares = expand_reduced(grad, sizes, dim, keepdim).div(reduced_count(sizes, dim));
  return cast_gradient(shares, dtype);
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (self.dim() == 0) return cast_gradient(grad, self.dtype());
  if (self.sym_numel() == SymInt(0)) return taeda::zeros_like(self);
  const Tensor flat = self.to(result.dtype()).reshape({SymInt(-1)});
  return cast_gradient(
      prod_along(grad, flat, result, 0).expand(flat.sym_sizes()).reshape(self.sym_sizes()),
      self.dtype());
}

Tensor prod_dim_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim,
                         bool keepdim) {
  if (self.dim() == 0) return cast_gradient(grad, self.dtype());
  if (self.sym_numel() == SymInt(0)) return taeda::zeros_like(self);
  dim = wrap_dim(dim, self.dim());
  const int64_t dims[] = {dim};
  const Tensor g = restore_reduced(grad, self.dim(), IntList(dims), keepdim),
               r = restore_reduced(result, self.dim(), IntList(dims), keepdim);
  return cast_gradient(prod_along(g, self.to(result.dtype()), r, dim), self.dtype());
}

Tensor share_among_equal(const Tensor& grad, const Tensor& self, const Tensor& result, IntList dim,
                         bool keepdim) {
  const Tensor g = restore_reduced(grad, self.dim(), dim, keepdim),
               r = restore_reduced(result, self.dim(), dim, keepdim);
  // NaN equals nothing: all of them were extreme.
  const Tensor mask = self.eq(r).logical_or(self.ne(self).logical_and(r.ne(r))).to(grad.dtype());
  return mask.mul(g.div(mask.sum(dim, /*keepdim=*/true)));
}

Tensor value_selecting_backward(const Tensor& grad, SymIntList sizes, int64_t dim,
                                const Tensor& indices, bool keepdim) {
  if (!grad.defined() || sizes.empty()) return grad;
  dim = wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  const Tensor zeros = grad.new_zeros(sizes);
  return keepdim ? zeros.scatter(dim, indices, grad)
                 : zeros.scatter(dim, indices.unsqueeze(dim), grad.unsqueeze(dim));
}

Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntList dim,
                          bool keepdim) {
  const Tensor g = restore_reduced(grad, self.dim(), dim, keepdim),
               r = restore_reduced(result, self.dim(), dim, keepdim);
  return g.mul(self.sub(r).exp().conj());
}

Tensor extreme_forward(const Tensor& self, const Tensor& tangent, const Tensor& result, IntList dim,
                       bool keepdim) {
  const Tensor shares = share_among_equal(taeda::ones_like(result), self, result, dim, keepdim);
  return shares.mul(tangent).sum(dim, keepdim);
}

Tensor selected_forward(const Tensor& tangent, int64_t dim, const Tensor& indices, bool keepdim) {
  if (tangent.dim() == 0) return tangent;
  if (keepdim) return tangent.gather(dim, indices);
  dim = wrap_dim(dim, tangent.dim());
  return tangent.gather(dim, indices.unsqueeze(dim)).squeeze(dim);
}

Tensor logsumexp_forward(const Tensor& self, const Tensor& tangent, const Tensor& result,
                         IntList dim, bool keepdim) {
  const Tensor r = restore_reduced(result, self.dim(), dim, keepdim);
  return self.sub(r).exp().mul(tangent).sum(dim, keepdim);
}

}  // namespace taeda::gradients
