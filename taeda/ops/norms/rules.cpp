// Norms of matrices and norms by their older names, from norms of vectors.
#include <cmath>

#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/norms/declarations.h"
#include "taeda/ops/norms/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

using NormDims = std::optional<IntList>;
using NormType = std::optional<DType>;

Scalar order_or_two(const std::optional<Scalar>& p) { return p.value_or(Scalar(2)); }

Tensor& written_norm(const char* op, const Tensor& result, Tensor& out) {
  OutSpec(result.sym_sizes(), result.dtype(), result.device()).prepare_out(out, op);
  return out.copy_(result);
}

[[noreturn]] void needs_singular_values(const char* order) {
  fail(ErrorKind::NotImplemented, "linalg.matrix_norm: the order ", order,
       " needs singular values, which are not there yet; supported: 'fro', 1, -1, inf, -inf");
}

}  // namespace

Tensor norm_Scalar(const Tensor& self, const Scalar& p) {
  return taeda::linalg_vector_norm(self, p, NormDims(), false, NormType());
}
Tensor norm_ScalarOpt_dim(const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim) {
  return taeda::linalg_vector_norm(self, order_or_two(p), dim, keepdim, NormType());
}
Tensor& norm_out(const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim,
                 Tensor& out) {
  return written_norm("norm", norm_ScalarOpt_dim(self, p, dim, keepdim), out);
}
Tensor norm_ScalarOpt_dtype(const Tensor& self, std::optional<Scalar> p, DType dtype) {
  return taeda::linalg_vector_norm(self, order_or_two(p), NormDims(), false, dtype);
}
Tensor norm_ScalarOpt_dim_dtype(const Tensor& self, std::optional<Scalar> p, IntList dim,
                                bool keepdim, DType dtype) {
  return taeda::linalg_vector_norm(self, order_or_two(p), dim, keepdim, dtype);
}
Tensor& norm_dtype_out(const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim,
                       DType dtype, Tensor& out) {
  return written_norm("norm", norm_ScalarOpt_dim_dtype(self, p, dim, keepdim, dtype), out);
}

// ---- matrices ----
namespace {

// The two dimensions of the matrices, wrapped.
std::array<int64_t, 2> matrix_dims(const Tensor& self, IntList dim) {
  TAEDA_CHECK(self.dim() >= 2,
              "linalg.matrix_norm: The input tensor A must have at least 2 "
              "dimensions.");
  TAEDA_CHECK(is_floating(self.dtype()) || self.is_complex(),
              "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got ",
              self.dtype());
  TAEDA_CHECK(dim.size() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got ", dim);
  const std::array<int64_t, 2> dims{wrap_dim(dim[0], self.dim()), wrap_dim(dim[1], self.dim())};
  TAEDA_CHECK(dims[0] != dims[1], "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ",
              dim[1], ")");
  return dims;
}

Tensor extreme_of(const Tensor& sums, int64_t dim, bool keepdim, bool is_greatest) {
  if (is_greatest && sums.sym_size(dim) == SymInt(0))
    return sums.new_zeros(reduced_sizes(sums, dim_bitset({dim}, sums.dim(), false), keepdim));
  return is_greatest ? sums.amax(IntList({dim}), keepdim) : sums.amin(IntList({dim}), keepdim);
}

}  // namespace

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntList dim, bool keepdim,
                          std::optional<DType> dtype) {
  TAEDA_CHECK(!ord.is_complex(),
              "linalg.matrix_norm: Expected a non-complex scalar as the order of norm.");
  const double order = ord.to_double(), size = std::abs(order);
  TAEDA_CHECK(size == 2 || size == 1 || std::isinf(size), "linalg.matrix_norm: Order ", order,
              " not supported.");
  auto [summed, compared] = matrix_dims(self, dim);
  if (size == 2) needs_singular_values(order > 0 ? "2" : "-2");
  if (std::isinf(size)) std::swap(summed, compared);
  if (!keepdim && summed < compared) --compared;
  const Tensor sums =
      taeda::linalg_vector_norm(self, Scalar(1.0), IntList({summed}), keepdim, dtype);
  return extreme_of(sums, compared, keepdim, order > 0);
}
Tensor& linalg_matrix_norm_out(const Tensor& self, const Scalar& ord, IntList dim, bool keepdim,
                               std::optional<DType> dtype, Tensor& out) {
  return written_norm("linalg_matrix_norm",
                      impl::linalg_matrix_norm(self, ord, dim, keepdim, dtype), out);
}
Tensor linalg_matrix_norm_str_ord(const Tensor& self, std::string_view ord, IntList dim,
                                  bool keepdim, std::optional<DType> dtype) {
  TAEDA_CHECK(ord == "fro" || ord == "nuc", "linalg.matrix_norm: Order ", ord, " not supported.");
  const std::array<int64_t, 2> dims = matrix_dims(self, dim);
  if (ord == "nuc") needs_singular_values("'nuc'");
  return taeda::linalg_vector_norm(self, Scalar(2), IntList(dims), keepdim, dtype);
}
Tensor& linalg_matrix_norm_str_ord_out(const Tensor& self, std::string_view ord, IntList dim,
                                       bool keepdim, std::optional<DType> dtype, Tensor& out) {
  return written_norm("linalg_matrix_norm",
                      impl::linalg_matrix_norm_str_ord(self, ord, dim, keepdim, dtype), out);
}

Tensor linalg_norm(const Tensor& self, std::optional<Scalar> ord, std::optional<IntList> dim,
                   bool keepdim, std::optional<DType> dtype) {
  TAEDA_CHECK(!dim || dim->size() == 1 || dim->size() == 2,
              "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  if (ord) {
    TAEDA_CHECK(dim || self.dim() == 1 || self.dim() == 2,
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
                self.dim(), "D.");
    const bool is_matrix = dim ? dim->size() == 2 : self.dim() == 2;
    if (is_matrix) {
      const int64_t last[] = {0, 1};
      return taeda::linalg_matrix_norm(self, *ord, dim.value_or(IntList(last)), keepdim, dtype);
    }
  }
  return taeda::linalg_vector_norm(self, order_or_two(ord), dim, keepdim, dtype);
}
Tensor& linalg_norm_out(const Tensor& self, std::optional<Scalar> ord, std::optional<IntList> dim,
                        bool keepdim, std::optional<DType> dtype, Tensor& out) {
  return written_norm("linalg_norm", impl::linalg_norm(self, ord, dim, keepdim, dtype), out);
}
Tensor linalg_norm_ord_str(const Tensor& self, std::string_view ord, std::optional<IntList> dim,
                           bool keepdim, std::optional<DType> dtype) {
  TAEDA_CHECK(!dim || dim->size() == 1 || dim->size() == 2,
              "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  TAEDA_CHECK(dim || self.dim() == 1 || self.dim() == 2,
              "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
              self.dim(), "D.");
  const int64_t last[] = {0, 1};
  return taeda::linalg_matrix_norm(self, ord, dim.value_or(IntList(last)), keepdim, dtype);
}
Tensor& linalg_norm_ord_str_out(const Tensor& self, std::string_view ord,
                                std::optional<IntList> dim, bool keepdim,
                                std::optional<DType> dtype, Tensor& out) {
  return written_norm("linalg_norm", impl::linalg_norm_ord_str(self, ord, dim, keepdim, dtype),
                      out);
}

// ---- renorm ----
namespace {

// By what each slice is multiplied. The small number keeps a scaled slice within the limit.
Tensor renorm_factor(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  TAEDA_CHECK(!p.is_complex(), "renorm: p must be real-valued");
  TAEDA_CHECK(p.to_double() > 0, "renorm: non-positive norm not supported");
  TAEDA_CHECK(!maxnorm.is_complex(), "renorm: maxnorm must be real-valued");
  TAEDA_CHECK(maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got ",
              maxnorm.to_double());
  TAEDA_CHECK(self.dim() > 1, "renorm: input needs at least 2 dimensions, got ", self.dim(),
              " dimensions");
  dim = wrap_dim(dim, self.dim());
  std::vector<int64_t> others;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d != dim) others.push_back(d);
  const NormType wide = is_reduced_float(self.dtype()) ? NormType(DType::Float) : NormType();
  const Tensor norm = taeda::linalg_vector_norm(self, p, IntList(others), true, wide);
  const Tensor scale = wrapped_scalar(maxnorm) / (norm + Scalar(1e-7));
  return taeda::where(norm.gt(maxnorm), scale, Scalar(1.0));
}

}  // namespace

Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  return self.mul(renorm_factor(self, p, dim, maxnorm)).to(self.dtype()).contiguous();
}
Tensor& renorm_(Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  return self.mul_(renorm_factor(self, p, dim, maxnorm).to(self.dtype()));
}
Tensor& renorm_out(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm,
                   Tensor& out) {
  return taeda::mul_out(out, self, renorm_factor(self, p, dim, maxnorm).to(self.dtype()));
}

}  // namespace taeda::impl
