// Derivative helpers of running sums and products.
#include "taeda/ops/scan_sort/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {
namespace {

Tensor reversed_cumsum(const Tensor& x, int64_t dim) {
  const int64_t dims[] = {dim};
  return x.flip(dims).cumsum(dim).flip(dims);
}

}  // namespace

Tensor cumsum_backward(const Tensor& grad, int64_t dim, DType dtype) {
  if (grad.dim() == 0 || grad.sym_numel() == SymInt(0)) return cast_gradient(grad, dtype);
  return cast_gradient(reversed_cumsum(grad, wrap_dim(dim, grad.dim())), dtype);
}

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& result) {
  if (self.dim() == 0 || self.sym_numel() <= SymInt(1)) return cast_gradient(grad, self.dtype());
  dim = wrap_dim(dim, self.dim());
  const Tensor x = self.to(result.dtype());
  if (!may_have_zeros(self))
    return cast_gradient(reversed_cumsum(grad * result.conj(), dim) / x.conj(), self.dtype());
  // With zeros each element's share is summed over the products that leave it out.
  const int64_t n = self.size(dim);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < n; ++i) {
    const Tensor ones = taeda::ones_like(x.narrow(dim, 0, 1));
    const Tensor before = i == 0 ? ones : x.narrow(dim, 0, i).prod(dim, /*keepdim=*/true);
    const Tensor after =
        i + 1 == n ? ones : taeda::cat({ones, x.narrow(dim, i + 1, n - i - 1)}, dim).cumprod(dim);
    const int64_t dims[] = {dim};
    parts.push_back((grad.narrow(dim, i, n - i) * (before * after).conj())
                        .sum(IntList(dims), /*keepdim=*/true));
  }
  return cast_gradient(taeda::cat(parts, dim), self.dtype());
}

Tensor cumprod_forward(const Tensor& self, const Tensor& tangent, int64_t dim,
                       const Tensor& result) {
  const Tensor x = self.to(result.dtype()), t = tangent.to(result.dtype());
  if (self.dim() == 0 || self.sym_numel() <= SymInt(1)) return t;
  dim = wrap_dim(dim, self.dim());
  if (!may_have_zeros(self)) return (t / x).cumsum(dim) * result;
  // With zeros: the sum over the elements of the products in which one of them is its tangent.
  const int64_t n = self.size(dim);
  Tensor total;
  for (int64_t i = 0; i < n; ++i) {
    const Tensor row = taeda::cat(
        {x.narrow(dim, 0, i), t.narrow(dim, i, 1), x.narrow(dim, i + 1, n - i - 1)}, dim);
    const Tensor zeros = taeda::zeros_like(x.narrow(dim, 0, i));
    const Tensor part = taeda::cat({zeros, row.cumprod(dim).narrow(dim, i, n - i)}, dim);
    total = total.defined() ? total.add(part) : part;
  }
  return total;
}

}  // namespace taeda::gradients
