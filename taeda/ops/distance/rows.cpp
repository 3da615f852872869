// Distances between rows: shape rules, and the forms made of other operators.
#include <cmath>

#include "taeda/core/unbacked.h"
#include "taeda/ops/cpp_name.h"
#include "taeda/ops/distance/declarations.h"
#include "taeda/ops/distance/functions.h"
#include "taeda/ops/distance/vector_norm.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/scalar_type.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_row_pairs(const Tensor& x1, const Tensor& x2) {
  TAEDA_CHECK(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  TAEDA_CHECK(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  TAEDA_CHECK(x1.sym_size(-1) == x2.sym_size(-1),
              "X1 and X2 must have the same number of columns. X1: ", x1.sym_size(-1),
              " X2: ", x2.sym_size(-1));
}

void check_distance(const Tensor& x1, const Tensor& x2, double p, int64_t mode) {
  TAEDA_CHECK(is_floating(x1.dtype()),
              "cdist only supports floating-point dtypes, X1 got: ", x1.dtype());
  TAEDA_CHECK(is_floating(x2.dtype()),
              "cdist only supports floating-point dtypes, X2 got: ", x2.dtype());
  TAEDA_CHECK(p >= 0, "cdist only supports non-negative p values");
  check_scalar_type(x1.dtype(), x2);
  TAEDA_CHECK(mode >= 0 && mode <= 2, "possible modes: 0, 1, 2, but was: ", mode);
}

void check_kernel_type(const char* kernel, DType dtype) {
  TAEDA_CHECK_NOT_IMPLEMENTED(dtype == DType::Float || dtype == DType::Double, "\"", kernel,
                              "\" not implemented for '", dtype, "'");
}

// The number of pairs of rows of a matrix; IndexError for what has no columns.
SymInt pairs_of_rows(const Tensor& self) {
  wrap_dim(1, self.dim(), /*wrap_scalar=*/false);
  const SymInt n = self.sym_size(0);
  return n * (n - SymInt(1)) / SymInt(2);
}

// Products of matrices are faster from some number of rows on, and less exact.
bool goes_by_matmul(const Tensor& x1, const Tensor& x2, double p, int64_t mode) {
  constexpr int64_t kMany = 25;
  const bool has_many =
      is_known(SymOp::Gt, x1.sym_size(-2), kMany) || is_known(SymOp::Gt, x2.sym_size(-2), kMany);
  return p == 2 && (mode == 1 || (mode == 0 && has_many));
}

SymIntVec batch_sizes(const Tensor& x1, const Tensor& x2) {
  const auto batch = [](const Tensor& x) {
    return x.sym_sizes().slice(0, static_cast<size_t>(x.dim() - 2));
  };
  return broadcast_shapes(batch(x1), batch(x2));
}

}  // namespace

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  check_row_pairs(x1, x2);
  const bool is_empty = x1.sym_numel() == SymInt(0) || x2.sym_numel() == SymInt(0);
  if (is_empty || !goes_by_matmul(x1, x2, p, compute_mode.value_or(0)))
    return taeda::_cdist_forward(x1, x2, p, compute_mode);
  check_distance(x1, x2, p, compute_mode.value_or(0));
  const SymIntVec batch = batch_sizes(x1, x2);
  const auto expanded = [&](const Tensor& x) {
    SymIntVec sizes(batch);
    sizes.push_back(x.sym_size(-2));
    sizes.push_back(x.sym_size(-1));
    return x.expand(SymIntList(sizes));
  };
  return taeda::_euclidean_dist(expanded(x1), expanded(x2));
}

OutSpec _cdist_forward_spec(const Tensor& x1, const Tensor& x2, double p,
                            std::optional<int64_t> compute_mode) {
  check_row_pairs(x1, x2);
  check_distance(x1, x2, p, compute_mode.value_or(0));
  check_kernel_type("cdist", x1.dtype());
  SymIntVec sizes = batch_sizes(x1, x2);
  sizes.push_back(x1.sym_size(-2));
  sizes.push_back(x2.sym_size(-2));
  return OutSpec(SymIntList(sizes), x1.dtype(), x1.device());
}

OutSpec _cdist_backward_spec(const Tensor& grad, const Tensor& x1, const Tensor& x2, double,
                             const Tensor& cdist) {
  check_row_pairs(x1, x2);
  check_kernel_type("cdist_backward", x1.dtype());
  for (const Tensor* t : {&x2, &grad, &cdist}) check_scalar_type(x1.dtype(), *t);
  SymIntVec sizes = batch_sizes(x1, x2), pairs(sizes);
  pairs.push_back(x1.sym_size(-2));
  pairs.push_back(x2.sym_size(-2));
  TAEDA_CHECK(grad.sym_sizes() == SymIntList(pairs) && cdist.sym_sizes() == SymIntList(pairs),
              "_cdist_backward: got gradients of ", grad.sym_sizes(), " for distances of ",
              cdist.sym_sizes(), " between ", x1.sym_sizes(), " and ", x2.sym_sizes());
  sizes.push_back(x1.sym_size(-2));
  sizes.push_back(x1.sym_size(-1));
  return OutSpec(SymIntList(sizes), x1.dtype(), x1.device());
}

// |a - b|^2 = a.a - 2 a.b + b.b, as one product.
Tensor _euclidean_dist(const Tensor& x1, const Tensor& x2) {
  check_row_pairs(x1, x2);
  check_distance(x1, x2, 2, 1);
  const auto square = [](const Tensor& x) { return x.mul(x).sum(IntList({-1}), true); };
  const Tensor a = square(x1), b = square(x2);
  const Tensor left = taeda::cat({x1.mul(Scalar(-2)), a, taeda::ones_like(a)}, -1);
  const Tensor right = taeda::cat({x2, taeda::ones_like(b), b}, -1);
  return left.matmul(right.transpose(-1, -2)).clamp_min(Scalar(0)).sqrt();
}

Tensor pdist(const Tensor& self, double p) {
  TAEDA_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  TAEDA_CHECK(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  TAEDA_CHECK(p >= 0, "pdist only supports non-negative p values");
  return taeda::_pdist_forward(self.contiguous(), p);
}

OutSpec _pdist_forward_spec(const Tensor& self, double) {
  TAEDA_CHECK(self.is_contiguous(), "_pdist_forward requires contiguous input");
  check_kernel_type("pdist", self.dtype());
  return OutSpec(SymIntList({pairs_of_rows(self)}), self.dtype(), self.device());
}

OutSpec _pdist_backward_spec(const Tensor& grad, const Tensor& self, double, const Tensor& pdist) {
  TAEDA_CHECK(self.is_contiguous(), "_pdist_backward requires self to be contiguous");
  TAEDA_CHECK(pdist.is_contiguous(), "_pdist_backward requires pdist to be contiguous");
  check_kernel_type("pdist_backward", self.dtype());
  const SymInt pairs = pairs_of_rows(self);
  for (const Tensor* t : {&grad, &pdist}) {
    check_scalar_type(self.dtype(), *t);
    TAEDA_CHECK(t->sym_numel() == pairs, "_pdist_backward: got gradients of ", grad.sym_sizes(),
                " for distances of ", pdist.sym_sizes(), " between rows of ", self.sym_sizes());
  }
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  return taeda::linalg_vector_norm(self.sub(other), p);
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  const bool is_same = input1.dtype() == input2.dtype() && input1.dtype() == weight.dtype() &&
                       (!bias.defined() || bias.dtype() == input1.dtype());
  TAEDA_CHECK(is_same,
              "All tensors must have the same dtype, got input1: ", cpp_name(input1.dtype()),
              ", input2: ", cpp_name(input2.dtype()), ", weight: ", cpp_name(weight.dtype()),
              bias.defined() ? ", bias: " : "", bias.defined() ? cpp_name(bias.dtype()) : "");
  TAEDA_CHECK(input1.dim() == input2.dim(), "bilinear(): input dimensions do not match: got ",
              input1.dim(), " and ", input2.dim());
  for (int64_t d = 0; d + 1 < input1.dim(); ++d)
    TAEDA_CHECK(input1.sym_size(d) == input2.sym_size(d),
                "bilinear(): input batch dimensions do not match at dim ", d, ": got ",
                input1.sym_size(d), " and ", input2.sym_size(d));
  TAEDA_CHECK(weight.dim() == 3 && input1.sym_size(-1) == weight.sym_size(1),
              "bilinear(): input1 size does not match weight size: got ", input1.sym_size(-1),
              " but expected ", weight.sym_size(1));
  TAEDA_CHECK(input2.sym_size(-1) == weight.sym_size(2),
              "bilinear(): input2 size does not match weight size: got ", input2.sym_size(-1),
              " but expected ", weight.sym_size(2));
  TAEDA_CHECK(!bias.defined() || bias.sym_size(0) == weight.sym_size(0),
              "bilinear(): bias size does not match weight size: got ",
              bias.defined() ? bias.sym_size(0) : SymInt(0), " but expected ", weight.sym_size(0));
  const SymInt results = weight.sym_size(0), first = weight.sym_size(1),
               second = weight.sym_size(2);
  // Rounded once, at the end.
  const auto wide = [&](const Tensor& t) {
    return is_reduced_float(t.dtype()) ? t.to(DType::Float) : t;
  };
  const Tensor a = wide(input1).reshape({SymInt(-1), first}),
               b = wide(input2).reshape({SymInt(-1), second});
  const Tensor matrices = wide(weight).permute({1, 0, 2}).reshape({first, results * second});
  const Tensor half = a.matmul(matrices).reshape({SymInt(-1), results, second});
  Tensor out = half.matmul(b.unsqueeze(-1)).squeeze(-1);
  SymIntVec sizes(input1.sym_sizes());
  sizes.back() = results;
  out = out.reshape(SymIntList(sizes));
  return (bias.defined() ? out.add(wide(bias)) : out).to(input1.dtype());
}

namespace {

Tensor with_dims(Tensor t, IntList dims) {
  for (int64_t d : dims) t = t.unsqueeze(d);
  return t;
}

// One index of a dimension, or all where it has only one.
Tensor slice_of(const Tensor& t, int64_t dim, int64_t index) {
  return t.sym_size(dim) == SymInt(1) ? t : t.narrow(dim, index, 1);
}

}  // namespace

Tensor _trilinear(const Tensor& i1, const Tensor& i2, const Tensor& i3, IntList expand1,
                  IntList expand2, IntList expand3, IntList sumdim, int64_t unroll_dim) {
  const int64_t rank = i1.dim() + static_cast<int64_t>(expand1.size());
  TAEDA_CHECK(unroll_dim >= 0 && unroll_dim < rank, "unroll_dim must be in [0,", rank - 1, "]");
  const Tensor a = with_dims(i1, expand1), b = with_dims(i2, expand2), c = with_dims(i3, expand3);
  const auto length = [&](const Tensor& t) { return t.sym_size(unroll_dim).expect_int(); };
  const int64_t count = std::max({length(a), length(b), length(c)});
  const bool is_summed = std::find(sumdim.begin(), sumdim.end(), unroll_dim) != sumdim.end();
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < count; ++k) {
    const auto at = [&](const Tensor& t) { return slice_of(t, unroll_dim, k); };
    Tensor product = at(a).mul(at(b)).mul(at(c));
    if (!sumdim.empty()) product = product.sum(sumdim, /*keepdim=*/true);
    if (is_summed && !parts.empty())
      parts[0] = parts[0].add(product);
    else
      parts.push_back(product);
  }
  Tensor out = taeda::cat(parts, unroll_dim);
  std::vector<int64_t> dims(sumdim.begin(), sumdim.end());
  std::sort(dims.rbegin(), dims.rend());
  for (int64_t d : dims) out = out.squeeze(d);
  return out;
}

}  // namespace taeda::impl
