// Norms of matrices and norms by their older names, from norms of vectors.
#include <cmath>

#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/made_apart.h"
#include "taeda/ops/norms/declarations.h"
#include "taeda/ops/norms/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

using NormDims = std::optional<IntList>;
using NormType = std::optional<DType>;

Scalar order_or_two(const std::optional<Scalar>& p) { return p.value_or(Scalar(2)); }

// The norms of linalg take an `out` that lies where the input does, or passes a gradient on: then
// the result is made before it is copied.
Tensor& copy_norm(const Tensor& result, Tensor& out) {
  resize_output(out, result.sym_sizes());
  return out.copy_(result);
}
void check_norm_out(const char* op, const Tensor& self, NormType dtype, const Tensor& out) {
  TAEDA_CHECK(self.device() == out.device(), op, ": Expected result and input tensors to be on ",
              "the same device, but got result on ", out.device(), " and input on ", self.device());
  const DType made = to_real(dtype.value_or(self.dtype()));
  TAEDA_CHECK(made == out.dtype(), op, " expected out tensor dtype ", made,
              " but got: ", out.dtype());
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
  return taeda::linalg_vector_norm_out(out, self, order_or_two(p), dim, keepdim);
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
  return taeda::linalg_vector_norm_out(out, self, order_or_two(p), dim, keepdim, dtype);
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

// The greatest or least of sums of magnitudes.
struct SumNorm {
  Tensor sums;
  int64_t compared;
  bool keepdim, is_greatest;

  SumNorm(const Tensor& self, const Scalar& ord, IntList dim, bool keepdim, NormType dtype)
      : keepdim(keepdim) {
    TAEDA_CHECK(!ord.is_complex(),
                "linalg.matrix_norm: Expected a non-complex scalar as the order of norm.");
    const double order = ord.to_double(), size = std::abs(order);
    TAEDA_CHECK(size == 2 || size == 1 || std::isinf(size), "linalg.matrix_norm: Order ", order,
                " not supported.");
    auto [first, second] = matrix_dims(self, dim);
    if (size == 2) needs_singular_values(order > 0 ? "2" : "-2");
    if (std::isinf(size)) std::swap(first, second);
    compared = second - (!keepdim && first < second ? 1 : 0);
    is_greatest = order > 0;
    sums = taeda::linalg_vector_norm(self, Scalar(1.0), IntList({first}), keepdim, dtype);
  }
  SymIntVec sizes() const {
    return reduced_sizes(sums, dim_bitset({compared}, sums.dim(), false), keepdim);
  }
  bool is_zero() const { return is_greatest && sums.sym_size(compared) == SymInt(0); }
};

}  // namespace

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntList dim, bool keepdim,
                          std::optional<DType> dtype) {
  const SumNorm norm(self, ord, dim, keepdim, dtype);
  if (norm.is_zero()) return norm.sums.new_zeros(norm.sizes());
  const int64_t along[] = {norm.compared};
  return norm.is_greatest ? norm.sums.amax(along, keepdim) : norm.sums.amin(along, keepdim);
}
Tensor& linalg_matrix_norm_out(const Tensor& self, const Scalar& ord, IntList dim, bool keepdim,
                               std::optional<DType> dtype, Tensor& out) {
  check_norm_out("linalg.matrix_norm", self, dtype, out);
  if (is_made_apart(out, self))
    return copy_norm(taeda::linalg_matrix_norm(self, ord, dim, keepdim, dtype), out);
  const SumNorm norm(self, ord, dim, keepdim, dtype);
  resize_output(out, norm.sizes());
  if (norm.is_zero()) return out.zero_();
  const int64_t along[] = {norm.compared};
  return norm.is_greatest ? taeda::amax_out(out, norm.sums, along, keepdim)
                          : taeda::amin_out(out, norm.sums, along, keepdim);
}

namespace {

std::array<int64_t, 2> named_norm_dims(const Tensor& self, std::string_view ord, IntList dim) {
  TAEDA_CHECK(ord == "fro" || ord == "nuc", "linalg.matrix_norm: Order ", ord, " not supported.");
  const std::array<int64_t, 2> dims = matrix_dims(self, dim);
  if (ord == "nuc") needs_singular_values("'nuc'");
  return dims;
}

}  // namespace

Tensor linalg_matrix_norm_str_ord(const Tensor& self, std::string_view ord, IntList dim,
                                  bool keepdim, std::optional<DType> dtype) {
  const std::array<int64_t, 2> dims = named_norm_dims(self, ord, dim);
  return taeda::linalg_vector_norm(self, Scalar(2), IntList(dims), keepdim, dtype);
}
Tensor& linalg_matrix_norm_str_ord_out(const Tensor& self, std::string_view ord, IntList dim,
                                       bool keepdim, std::optional<DType> dtype, Tensor& out) {
  check_norm_out("linalg.matrix_norm", self, dtype, out);
  if (is_made_apart(out, self))
    return copy_norm(taeda::linalg_matrix_norm(self, ord, dim, keepdim, dtype), out);
  const std::array<int64_t, 2> dims = named_norm_dims(self, ord, dim);
  return taeda::linalg_vector_norm_out(out, self, Scalar(2), IntList(dims), keepdim, dtype);
}

namespace {

constexpr int64_t kRowsAndColumns[] = {0, 1};

// Whether the norm is one of matrices, after the checks of `dim`.
bool is_matrix_norm(const Tensor& self, bool has_order, NormDims dim) {
  TAEDA_CHECK(!dim || dim->size() == 1 || dim->size() == 2,
              "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  if (!has_order) return false;
  TAEDA_CHECK(dim || self.dim() == 1 || self.dim() == 2,
              "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
              self.dim(), "D.");
  return dim ? dim->size() == 2 : self.dim() == 2;
}

}  // namespace

Tensor linalg_norm(const Tensor& self, std::optional<Scalar> ord, std::optional<IntList> dim,
                   bool keepdim, std::optional<DType> dtype) {
  if (is_matrix_norm(self, ord.has_value(), dim))
    return taeda::linalg_matrix_norm(self, *ord, dim.value_or(IntList(kRowsAndColumns)), keepdim,
                                     dtype);
  return taeda::linalg_vector_norm(self, order_or_two(ord), dim, keepdim, dtype);
}
Tensor& linalg_norm_out(const Tensor& self, std::optional<Scalar> ord, std::optional<IntList> dim,
                        bool keepdim, std::optional<DType> dtype, Tensor& out) {
  check_norm_out("linalg.norm", self, dtype, out);
  if (is_made_apart(out, self))
    return copy_norm(taeda::linalg_norm(self, ord, dim, keepdim, dtype), out);
  if (is_matrix_norm(self, ord.has_value(), dim))
    return taeda::linalg_matrix_norm_out(out, self, *ord, dim.value_or(IntList(kRowsAndColumns)),
                                         keepdim, dtype);
  return taeda::linalg_vector_norm_out(out, self, order_or_two(ord), dim, keepdim, dtype);
}
Tensor linalg_norm_ord_str(const Tensor& self, std::string_view ord, std::optional<IntList> dim,
                           bool keepdim, std::optional<DType> dtype) {
  is_matrix_norm(self, true, dim);
  return taeda::linalg_matrix_norm(self, ord, dim.value_or(IntList(kRowsAndColumns)), keepdim,
                                   dtype);
}
Tensor& linalg_norm_ord_str_out(const Tensor& self, std::string_view ord,
                                std::optional<IntList> dim, bool keepdim,
                                std::optional<DType> dtype, Tensor& out) {
  check_norm_out("linalg.norm", self, dtype, out);
  is_matrix_norm(self, true, dim);
  return taeda::linalg_matrix_norm_out(out, self, ord, dim.value_or(IntList(kRowsAndColumns)),
                                       keepdim, dtype);
}

// ---- renorm ----
namespace {

// By what each slice is multiplied. The small number keeps a scaled slice within the limit.
Tensor renorm_factor(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  TAEDA_CHECK(!p.is_complex(), "renorm: p must be real-valued");
  TAEDA_CHECK(p.to_double() > 0, "renorm: non-positive-norm not supported");
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
  // What the factor's gradient reads is overwritten by the copy alone, behind it.
  return self.copy_(taeda::renorm(self.clone(), p, dim, maxnorm));
}
Tensor& renorm_out(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm,
                   Tensor& out) {
  return taeda::mul_out(out, self, renorm_factor(self, p, dim, maxnorm).to(self.dtype()));
}

// ---- weights of given norms ----
namespace {

// The norms of the slices along `dim`, in `dtype` where one is given.
Tensor slice_norms(const Tensor& v, int64_t pow, int64_t dim, NormType dtype) {
  if (dim == -1) return taeda::linalg_vector_norm(v, Scalar(pow), NormDims(), false, dtype);
  TAEDA_CHECK_INDEX(v.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  dim = wrap_dim(dim, v.dim());
  // An empty list of dimensions would mean all of them.
  const Tensor slices = v.dim() == 1 ? v.unsqueeze(1) : v;
  std::vector<int64_t> others;
  for (int64_t d = 0; d < slices.dim(); ++d)
    if (d != dim) others.push_back(d);
  return taeda::linalg_vector_norm(slices, Scalar(pow), IntList(others), v.dim() > 1, dtype);
}

}  // namespace

Tensor norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) {
  return slice_norms(v, pow, dim, NormType());
}

Tensor _weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
  TAEDA_CHECK(v.device() == g.device(),
              "weight_norm: expected v_in and g_in to be on the same device, but v_in is on ",
              v.device(), " and g_in is on ", g.device());
  // Norms of the first or last dimension's slices stay in float32 until the product; others are
  // rounded, so that a tensor with its own norms is left exactly as it is.
  const bool is_wide = is_reduced_float(v.dtype()) && (dim == 0 || dim == v.dim() - 1);
  const NormType dtype = is_wide ? NormType(DType::Float) : NormType();
  const Tensor scale = g.div(slice_norms(v, 2, dim, dtype));
  return v.contiguous().mul(scale).to(v.dtype());
}

}  // namespace taeda::impl
