// Shape and dtype rules of running sums, sorting and selection.
#include "taeda/ops/functions.h"
#include "taeda/ops/scan_sort/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

OutSpec scan_spec(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  wrap_dim(dim, self.dim());
  return OutSpec(self.sym_sizes(),
                 dtype.value_or(is_integral(self.dtype(), true) ? DType::Int64 : self.dtype()),
                 self.device());
}

}  // namespace

OutSpec cumsum_spec(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scan_spec(self, dim, dtype);
}
OutSpec cumprod_spec(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scan_spec(self, dim, dtype);
}

std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  return taeda::sort(self, std::optional<bool>(false), dim, descending);
}
std::tuple<Tensor, Tensor> sort_values(const Tensor& self, int64_t dim, bool descending,
                                       Tensor& values, Tensor& indices) {
  return taeda::sort_out(values, indices, self, std::optional<bool>(false), dim, descending);
}
std::array<OutSpec, 2> sort_stable_spec(const Tensor& self, std::optional<bool>, int64_t dim,
                                        bool) {
  wrap_dim(dim, self.dim());
  TAEDA_CHECK(!self.is_complex(), " Sort does not support complex dtypes on CPU");
  OutSpec values(self.sym_sizes(), self.dtype(), self.device());
  // Sorted lines keep the order of dimensions in memory.
  values.strides = strides_like(self, MemoryFormat::Preserve);
  OutSpec indices = values;
  indices.dtype = DType::Int64;
  return {values, indices};
}

Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return std::get<1>(taeda::sort(self, dim, descending));
}
Tensor argsort_stable(const Tensor& self, bool stable, int64_t dim, bool descending) {
  return std::get<1>(taeda::sort(self, std::optional<bool>(stable), dim, descending));
}

Tensor msort(const Tensor& self) { return std::get<0>(taeda::sort(self, int64_t{0}, false)); }
Tensor& msort_out(const Tensor& self, Tensor& out) {
  Tensor indices = taeda::empty({SymInt(0)}, DType::Int64, {}, self.device());
  taeda::sort_out(out, indices, self, int64_t{0}, false);
  return out;
}

std::array<OutSpec, 2> topk_spec(const Tensor& self, SymInt k, int64_t dim, bool, bool) {
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK(k >= SymInt(0) && k <= (self.dim() > 0 ? self.sym_size(dim) : SymInt(1)),
              "selected index k out of range");
  TAEDA_CHECK(!self.is_complex(), " topk does not support complex dtypes on CPU");
  TAEDA_CHECK(self.dtype() != DType::Bool, "topk does not support bool dtypes on CPU");
  SymIntVec sizes(self.sym_sizes());
  if (!sizes.empty()) sizes[dim] = k;
  return {OutSpec(SymIntList(sizes), self.dtype(), self.device()),
          OutSpec(SymIntList(sizes), DType::Int64, self.device())};
}

}  // namespace taeda::impl
