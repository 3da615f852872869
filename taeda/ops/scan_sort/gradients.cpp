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

// By pairs of places along `dim` and behind it: the product of the elements behind the first, up to
// the second; 0 where the second comes first.
Tensor products_between(const Tensor& x, int64_t dim) {
  const SymInt n = x.sym_size(dim);
  const Tensor places = taeda::arange(Scalar(n), DType::Int64, {}, x.device());
  SymIntVec shape(static_cast<size_t>(x.dim() + 1), SymInt(1));
  shape[dim + 1] = n;
  const Tensor second = places.reshape(shape);
  std::swap(shape[dim], shape[dim + 1]);
  const Tensor first = places.reshape(shape);
  const Tensor factors = taeda::where(second.gt(first), x.unsqueeze(dim), Scalar(1));
  return taeda::where(second.ge(first), factors.cumprod(dim + 1), Scalar(0));
}

// Each element's share, summed over the products that leave it out. Of any order of derivatives,
// and of quadratic memory.
Tensor shares_by_pairs(const Tensor& grad, const Tensor& x, int64_t dim) {
  const int64_t dims[] = {dim + 1};
  return (grad.unsqueeze(dim) * products_between(x, dim).conj()).sum(IntList(dims)) *
         exclusive_cumprod(x, dim).conj();
}

// The same where nothing is differentiated again. Products from the first zero on are 0 but for
// what the zero itself has a share of: those in which it is left out, up to the next one.
Tensor shares_up_to_zeros(const Tensor& grad, const Tensor& x, int64_t dim, const Tensor& result) {
  const int64_t dims[] = {dim};
  const Tensor is_zero = x.eq(Scalar(0)), zeros = is_zero.cumsum(dim);
  const Tensor is_before = zeros.eq(Scalar(0)), is_behind = zeros.eq(Scalar(1));
  const Tensor is_first = is_zero.logical_and(is_behind);
  const Tensor before =
      reversed_cumsum(taeda::where(is_before, grad * result.conj(), Scalar(0)), dim) /
      taeda::where(is_before, x, Scalar(1)).conj();
  const Tensor without = taeda::where(is_first, Scalar(1), x).cumprod(dim).conj();
  const Tensor of_first =
      taeda::where(is_behind, grad * without, Scalar(0)).sum(IntList(dims), /*keepdim=*/true);
  return taeda::where(is_first, of_first, taeda::where(is_before, before, Scalar(0)));
}

}  // namespace

Tensor cumsum_backward(const Tensor& grad, int64_t dim, DType dtype) {
  if (grad.dim() == 0 || grad.sym_numel() == SymInt(0)) return cast_gradient(grad, dtype);
  return cast_gradient(reversed_cumsum(grad, wrap_dim(dim, grad.dim())), dtype);
}

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& result,
                        bool is_differentiable) {
  if (self.dim() == 0 || self.sym_numel() <= SymInt(1)) return cast_gradient(grad, self.dtype());
  dim = wrap_dim(dim, self.dim());
  const Tensor x = self.to(result.dtype());
  const auto found = [&] {
    if (!may_have_zeros(self)) return reversed_cumsum(grad * result.conj(), dim) / x.conj();
    return is_differentiable ? shares_by_pairs(grad, x, dim)
                             : shares_up_to_zeros(grad, x, dim, result);
  };
  return cast_gradient(found(), self.dtype());
}

Tensor cumprod_forward(const Tensor& self, const Tensor& tangent, int64_t dim,
                       const Tensor& result) {
  const Tensor x = self.to(result.dtype()), t = tangent.to(result.dtype());
  if (self.dim() == 0 || self.sym_numel() <= SymInt(1)) return t;
  dim = wrap_dim(dim, self.dim());
  if (!may_have_zeros(self)) return (t / x).cumsum(dim) * result;
  const int64_t dims[] = {dim};
  return ((t * exclusive_cumprod(x, dim)).unsqueeze(dim + 1) * products_between(x, dim))
      .sum(IntList(dims));
}

}  // namespace taeda::gradients
