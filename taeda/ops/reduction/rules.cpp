// Shape and dtype rules of reductions.
#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/kernel_name.h"
#include "taeda/ops/reduction/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

OutSpec reduced(const Tensor& self, uint64_t bits, bool keepdim, DType dtype) {
  return OutSpec(SymIntList(reduced_sizes(self, bits, keepdim)), dtype, self.device());
}
OutSpec reduced(const Tensor& self, std::optional<IntList> dim, bool keepdim, DType dtype) {
  return reduced(self, dim_bitset(dim.value_or(IntList()), self.dim(), true), keepdim, dtype);
}
uint64_t one_dim(const Tensor& self, int64_t dim) { return dim_bitset({dim}, self.dim(), false); }

// Of a reduction that computes in this dtype.
void check_reduced_dtype(const char* op, const Tensor& self, DType common) {
  const DType refused = is_float8(common) ? common : self.dtype();
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_float8(refused), "\"", kernel_name(op, self.device()),
                              "\" not implemented for '", refused, "'");
}
// Integers add and multiply in int64.
DType summed_dtype(const char* op, const Tensor& self, std::optional<DType> dtype) {
  const DType common =
      dtype.value_or(is_integral(self.dtype(), true) ? DType::Int64 : self.dtype());
  check_reduced_dtype(op, self, common);
  return common;
}
DType truth_dtype(const Tensor& self) {
  return self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool;
}

// An extreme of nothing does not exist. Of sizes that only data tells a run checks it.
void check_not_empty(const char* op, const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return;
  TAEDA_CHECK_INDEX(expect(SymOp::Ne, self.sym_size(dim), 0), op, "(): Expected reduction dim ",
                    wrap_dim(dim, self.dim()), " to have non-zero size.");
}
void check_not_empty_all(const char* op, const Tensor& self) {
  TAEDA_CHECK(expect(SymOp::Ne, self.sym_numel(), 0), op,
              "(): Expected reduction dim to be specified for input.numel() == 0. "
              "Specify the reduction dim with the 'dim' argument.");
}

// Kernels name themselves in their refusals, which a trace does not reach.
void check_all(const char* op, const Tensor& self) {
  check_not_empty_all(op, self);
  TAEDA_CHECK_NOT_IMPLEMENTED(!self.is_meta() || !is_float8(self.dtype()), "\"", op,
                              "_all\" not implemented for '", self.dtype(), "'");
}

OutSpec extreme_spec(const char* op, const char* kernel, const Tensor& self, IntList dim,
                     bool keepdim) {
  check_reduced_dtype(kernel, self, self.dtype());
  if (dim.empty()) check_not_empty_all(op, self);
  for (int64_t d : dim) check_not_empty(op, self, wrap_dim(d, self.dim()));
  return reduced(self, dim, keepdim, self.dtype());
}

std::array<OutSpec, 2> extreme_dim_spec(const char* op, const Tensor& self, int64_t dim,
                                        bool keepdim) {
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK(!self.is_complex(), op, "(): does not support complex input");
  check_not_empty(op, self, dim);
  const uint64_t bits = one_dim(self, dim);
  return {reduced(self, bits, keepdim, self.dtype()), reduced(self, bits, keepdim, DType::Int64)};
}

OutSpec arg_spec(const char* op, const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  TAEDA_CHECK(!self.is_complex(), op, "(): does not support complex input");
  TAEDA_CHECK(self.dtype() != DType::Bool, op, "(): does not support bool input");
  if (!dim) {
    TAEDA_CHECK_INDEX(expect(SymOp::Ne, self.sym_numel(), 0), op,
                      "(): Expected reduction dim to be specified for input.numel() == 0.");
    return reduced(self, dim_bitset({}, self.dim(), true), keepdim, DType::Int64);
  }
  const int64_t d = wrap_dim(*dim, self.dim());
  check_not_empty(op, self, d);
  return reduced(self, one_dim(self, d), keepdim, DType::Int64);
}

}  // namespace

Tensor sum(const Tensor& self, std::optional<DType> dtype) {
  return taeda::sum(self, std::optional<IntList>(), false, dtype);
}
OutSpec sum_dim_IntList_spec(const Tensor& self, std::optional<IntList> dim, bool keepdim,
                             std::optional<DType> dtype) {
  return reduced(self, dim, keepdim, summed_dtype("sum", self, dtype));
}

Tensor mean(const Tensor& self, std::optional<DType> dtype) {
  return taeda::mean(self, std::optional<IntList>(), false, dtype);
}
Tensor& mean_dtype_out(const Tensor& self, std::optional<DType> dtype, Tensor& out) {
  return taeda::mean_out(out, self, std::optional<IntList>(), false, dtype);
}
OutSpec mean_dim_spec(const Tensor& self, std::optional<IntList> dim, bool keepdim,
                      std::optional<DType> dtype) {
  const DType type = dtype.value_or(self.dtype());
  TAEDA_CHECK(is_floating(type) || is_complex(type), "mean(): could not infer output dtype. ",
              dtype ? "Optional" : "Input",
              " dtype must be either a floating point or complex dtype. Got: ", type);
  check_reduced_dtype("mean", self, type);
  return reduced(self, dim, keepdim, type);
}

OutSpec prod_spec(const Tensor& self, std::optional<DType> dtype) {
  return reduced(self, std::nullopt, false, summed_dtype("prod", self, dtype));
}
OutSpec prod_dim_int_spec(const Tensor& self, int64_t dim, bool keepdim,
                          std::optional<DType> dtype) {
  return reduced(self, one_dim(self, dim), keepdim, summed_dtype("prod", self, dtype));
}

OutSpec amax_spec(const Tensor& self, IntList dim, bool keepdim) {
  return extreme_spec("amax", "max_values", self, dim, keepdim);
}
OutSpec amin_spec(const Tensor& self, IntList dim, bool keepdim) {
  return extreme_spec("amin", "min_values", self, dim, keepdim);
}
OutSpec max_spec(const Tensor& self) {
  check_all("max", self);
  return reduced(self, std::nullopt, false, self.dtype());
}
OutSpec min_spec(const Tensor& self) {
  check_all("min", self);
  return reduced(self, std::nullopt, false, self.dtype());
}
std::array<OutSpec, 2> max_dim_spec(const Tensor& self, int64_t dim, bool keepdim) {
  return extreme_dim_spec("max", self, dim, keepdim);
}
std::array<OutSpec, 2> min_dim_spec(const Tensor& self, int64_t dim, bool keepdim) {
  return extreme_dim_spec("min", self, dim, keepdim);
}
namespace {

// amin and amax take a list.
SmallVector<int64_t, 1> aminmax_dims(const Tensor& self, std::optional<int64_t> dim) {
  TAEDA_CHECK(dim || expect(SymOp::Ne, self.sym_numel(), 0),
              "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
              "identity.");
  SmallVector<int64_t, 1> dims;
  if (dim) dims.push_back(*dim);
  return dims;
}

}  // namespace

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const auto dims = aminmax_dims(self, dim);
  return {taeda::amin(self, dims, keepdim), taeda::amax(self, dims, keepdim)};
}
std::tuple<Tensor, Tensor> aminmax_out(const Tensor& self, std::optional<int64_t> dim, bool keepdim,
                                       Tensor& min, Tensor& max) {
  const auto dims = aminmax_dims(self, dim);
  return {taeda::amin_out(min, self, dims, keepdim), taeda::amax_out(max, self, dims, keepdim)};
}

Tensor max_other(const Tensor& self, const Tensor& other) { return taeda::maximum(self, other); }
Tensor& max_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return taeda::maximum_out(out, self, other);
}
Tensor min_other(const Tensor& self, const Tensor& other) { return taeda::minimum(self, other); }
Tensor& min_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return taeda::minimum_out(out, self, other);
}

OutSpec argmax_spec(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_spec("argmax", self, dim, keepdim);
}
OutSpec argmin_spec(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_spec("argmin", self, dim, keepdim);
}

OutSpec any_spec(const Tensor& self) {
  return reduced(self, std::nullopt, false, truth_dtype(self));
}
OutSpec any_dim_spec(const Tensor& self, int64_t dim, bool keepdim) {
  return reduced(self, one_dim(self, dim), keepdim, truth_dtype(self));
}
// An empty list of dimensions reduces none.
OutSpec any_dims_spec(const Tensor& self, std::optional<IntList> dim, bool keepdim) {
  return reduced(self, dim_bitset(dim.value_or(IntList()), self.dim(), !dim), keepdim,
                 truth_dtype(self));
}
OutSpec all_spec(const Tensor& self) { return any_spec(self); }
OutSpec all_dim_spec(const Tensor& self, int64_t dim, bool keepdim) {
  return any_dim_spec(self, dim, keepdim);
}
OutSpec all_dims_spec(const Tensor& self, std::optional<IntList> dim, bool keepdim) {
  return any_dims_spec(self, dim, keepdim);
}

Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  return dim ? taeda::count_nonzero(self, IntList({*dim})) : taeda::count_nonzero(self, IntList());
}
OutSpec count_nonzero_dim_IntList_spec(const Tensor& self, IntList dim) {
  return reduced(self, dim, false, DType::Int64);
}

OutSpec logsumexp_spec(const Tensor& self, IntList dim, bool keepdim) {
  return reduced(self, dim, keepdim,
                 is_integral(self.dtype(), true) ? default_dtype() : self.dtype());
}

}  // namespace taeda::impl
