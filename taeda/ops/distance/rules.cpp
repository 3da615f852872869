// Norms of vectors and distances between them, from sums and powers.
#include "taeda/ops/distance/declarations.h"
#include "taeda/ops/distance/functions.h"

#include <cmath>
#include <limits>

#include "taeda/ops/distance/vector_norm.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda {
namespace {

Tensor widened(const Tensor& x) { return is_reduced_float(x.dtype()) ? x.to(DType::Float) : x; }

Tensor narrowed(const Tensor& norm, const Tensor& x) {
  return is_reduced_float(x.dtype()) ? norm.to(x.dtype()) : norm;
}

// The root of a sum without the infinite slope at zero.
template <class Root>
Tensor root_of(const Tensor& sum, Root&& root) {
  const Tensor is_zero = sum.eq(Scalar(0));
  return root(sum.masked_fill(is_zero, Scalar(1))).masked_fill(is_zero, Scalar(0));
}

// Powers below one have an infinite slope at zero; there the norm's slope is taken to be zero.
Tensor power_of(const Tensor& size, double p) {
  if (p >= 1) return size.pow(Scalar(p));
  const Tensor is_zero = size.eq(Scalar(0));
  const double at_zero = p > 0 ? 0 : std::numeric_limits<double>::infinity();
  return size.masked_fill(is_zero, Scalar(1)).pow(Scalar(p)).masked_fill(is_zero, Scalar(at_zero));
}

}  // namespace

Tensor vector_norm(const Tensor& x, double p, IntList dims, bool keepdim) {
  const Tensor size = widened(x).abs();
  if (std::isinf(p)) return p > 0 ? size.amax(dims, keepdim) : size.amin(dims, keepdim);
  // The count has a slope of zero, as in PyTorch.
  if (p == 0) {
    const Tensor is_counted = size.ne(Scalar(0));
    const Tensor flat = size.masked_fill(taeda::ones_like(is_counted), Scalar(0));
    return flat.add(is_counted.to(size.dtype())).sum(dims, keepdim);
  }
  if (p == 1) return size.sum(dims, keepdim);
  if (p == 2)
    return root_of(size.mul(size).sum(dims, keepdim), [](const Tensor& s) { return s.sqrt(); });
  return root_of(power_of(size, p).sum(dims, keepdim),
                 [&](const Tensor& s) { return s.pow(Scalar(1 / p)); });
}

namespace impl {
namespace {

void check_numbers(const Tensor& x) {
  TAEDA_CHECK(x.is_floating_point() || x.is_complex(),
              "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
              x.dtype());
}

// The dtype that elements are converted to first, if one is given.
void check_norm_dtype(const Tensor& x, const std::optional<DType>& dtype) {
  if (!dtype) return;
  TAEDA_CHECK(is_floating(*dtype) || is_complex(*dtype),
              "linalg.vector_norm: dtype should be floating point or complex, but got ", *dtype);
  TAEDA_CHECK(x.is_complex() == is_complex(*dtype), "linalg.vector_norm: dtype should be ",
              x.is_complex() ? "complex for complex" : "real for real", " inputs, but got ",
              *dtype);
}

// The norm that vectors are divided by, at least `eps`.
Tensor divisor(const Tensor& x, const Scalar& p, IntList dim, double eps) {
  check_numbers(x);
  const Tensor norm = vector_norm(x, p.to_double(), dim, true);
  return narrowed(norm, x).clamp_min(Scalar(eps)).expand(x.sym_sizes());
}

}  // namespace

Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, std::optional<IntList> dim,
                          bool keepdim, std::optional<DType> dtype) {
  check_numbers(self);
  check_norm_dtype(self, dtype);
  const Tensor x = dtype ? self.to(*dtype) : self;
  return narrowed(vector_norm(x, ord.to_double(), dim.value_or(IntList()), keepdim), x);
}

Tensor& linalg_vector_norm_out(const Tensor& self, const Scalar& ord, std::optional<IntList> dim,
                               bool keepdim, std::optional<DType> dtype, Tensor& out) {
  check_numbers(self);
  check_norm_dtype(self, dtype);
  const double p = ord.to_double();
  const IntList dims = dim.value_or(IntList());
  // From here on `out` may lie where self does: only magnitudes are read.
  const Tensor size = (dtype ? self.to(*dtype) : self).abs();
  OutSpec spec(SymIntList(reduced_sizes(size, dim_bitset(dims, size.dim(), true), keepdim)),
               size.dtype(), size.device());
  spec.prepare_out(out, "linalg_vector_norm");
  if (std::isinf(p))
    return p > 0 ? taeda::amax_out(out, size, dims, keepdim)
                 : taeda::amin_out(out, size, dims, keepdim);
  if (p == 0) return taeda::sum_out(out, size.ne(Scalar(0)), dims, keepdim, out.dtype());
  if (p == 1) return taeda::sum_out(out, size, dims, keepdim);
  const auto power = [&](const Tensor& x) { return p == 2 ? x.mul(x) : x.pow(ord); };
  // Sums of 16-bit numbers stay in float until their root is rounded.
  if (is_reduced_float(size.dtype())) {
    const Tensor sum = power(size.to(DType::Float)).sum(dims, keepdim);
    return p == 2 ? taeda::sqrt_out(out, sum) : taeda::pow_out(out, sum, Scalar(1 / p));
  }
  taeda::sum_out(out, power(size), dims, keepdim);
  return p == 2 ? out.sqrt_() : out.pow_(Scalar(1 / p));
}

Tensor normalize(const Tensor& self, const Scalar& p, IntList dim, double eps) {
  return self.div(divisor(self, p, dim, eps));
}
Tensor& normalize_out(const Tensor& self, const Scalar& p, IntList dim, double eps, Tensor& out) {
  return taeda::div_out(out, self, divisor(self, p, dim, eps));
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const Tensor difference = x1.sub(x2).add(Scalar(eps));
  return narrowed(vector_norm(difference, p, {-1}, keepdim), difference);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const Tensor* const inputs[] = {&x1, &x2};
  const DType common = result_type(inputs);
  TAEDA_CHECK(is_floating(common),
              "expected common dtype to be floating point, yet common dtype is ", common);
  TAEDA_CHECK(eps >= 0, "eps must be non-negative, got: ", eps);
  const SymIntVec sizes(broadcast_shapes(x1.sym_sizes(), x2.sym_sizes()));
  const Tensor a = x1.to(common).expand(sizes), b = x2.to(common).expand(sizes);
  const auto unit = [&](const Tensor& x) { return x.div(divisor(x, 2, {dim}, eps)); };
  return unit(a).mul(unit(b)).sum(IntList({dim}));
}

}  // namespace impl
}  // namespace taeda
