// Shapes of medians, selected elements and modes.
#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/order_statistics/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_ordered_dtype(const char* kernel, const Tensor& self, bool takes_bool) {
  const bool is_taken = !self.is_complex() && (takes_bool || self.dtype() != DType::Bool);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_taken, "\"", kernel, "\" not implemented for '", self.dtype(),
                              "'");
}

// A value and an index per line along `dim`.
std::array<OutSpec, 2> selected_spec(const char* op, const Tensor& self, int64_t dim,
                                     bool keepdim) {
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK_INDEX(self.dim() == 0 || expect(SymOp::Ne, self.sym_size(dim), 0), op,
                    "(): Expected reduction dim ", dim, " to have non-zero size.");
  const SymIntVec sizes = reduced_sizes(self, dim_bitset({dim}, self.dim(), false), keepdim);
  return {OutSpec(SymIntList(sizes), self.dtype(), self.device()),
          OutSpec(SymIntList(sizes), DType::Int64, self.device())};
}

OutSpec one_median_spec(const Tensor& self) {
  check_ordered_dtype("median_cpu", self, false);
  return OutSpec(SymIntList(), self.dtype(), self.device());
}

}  // namespace

OutSpec median_spec(const Tensor& self) { return one_median_spec(self); }
OutSpec nanmedian_spec(const Tensor& self) { return one_median_spec(self); }
std::array<OutSpec, 2> median_dim_spec(const Tensor& self, int64_t dim, bool keepdim) {
  const auto specs = selected_spec("median", self, dim, keepdim);
  check_ordered_dtype("median_out", self, false);
  return specs;
}
std::array<OutSpec, 2> nanmedian_dim_spec(const Tensor& self, int64_t dim, bool keepdim) {
  return median_dim_spec(self, dim, keepdim);
}

std::array<OutSpec, 2> kthvalue_spec(const Tensor& self, SymInt k, int64_t dim, bool keepdim) {
  const auto specs = selected_spec("kthvalue", self, dim, keepdim);
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK(
      k >= SymInt(1) && expect(SymOp::Le, k, self.dim() > 0 ? self.sym_size(dim) : SymInt(1)),
      "kthvalue(): selected number k out of range for dimension ", dim);
  check_ordered_dtype("kthvalue_cpu", self, false);
  return specs;
}

std::array<OutSpec, 2> mode_spec(const Tensor& self, int64_t dim, bool keepdim) {
  const auto specs = selected_spec("mode", self, dim, keepdim);
  check_ordered_dtype("mode_cpu", self, true);
  return specs;
}

}  // namespace taeda::impl
