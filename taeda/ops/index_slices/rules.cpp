// Shape rules of operators that index one dimension with a vector.
#include "taeda/ops/index_slices/declarations.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

OutSpec like(const Tensor& self) { return OutSpec(self.sym_sizes(), self.dtype(), self.device()); }

bool is_int64_or_int32(const Tensor& t) {
  return t.dtype() == DType::Int64 || t.dtype() == DType::Int32;
}

// Sizes without `dim`.
SymIntVec slice_sizes(const Tensor& t, int64_t dim) {
  SymIntVec sizes(t.sym_sizes());
  if (!sizes.empty()) sizes.erase(static_cast<size_t>(dim));
  return sizes;
}

void check_devices(const char* op, const Tensor& self, const Tensor& index, const Tensor* source) {
  const Tensor* const inputs[] = {&self, &index, source ? source : &self};
  check_same_device(op, inputs);
}

}  // namespace

OutSpec index_select_spec(const Tensor& self, int64_t dim, const Tensor& index) {
  check_devices("index_select", self, index, nullptr);
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  TAEDA_CHECK(is_int64_or_int32(index), "index_select(): Expected dtype int32 or int64 for index");
  TAEDA_CHECK(self.dim() > 0 || index.sym_numel() == SymInt(1),
              "index_select(): Index to scalar can have only 1 value, got ", index.sym_numel(),
              " value(s)");
  SymIntVec sizes(self.sym_sizes());
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = index.sym_numel();
  return OutSpec(SymIntList(sizes), self.dtype(), self.device());
}

OutSpec index_add_spec(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                       const Scalar&) {
  check_devices("index_add", self, index, &source);
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK_INDEX(index.dim() <= 1,
                    "index_add_(): Index is supposed to be a vector, but got dim: ", index.dim(),
                    " with type: ", index.dtype(), " and size: ", index.sym_sizes());
  TAEDA_CHECK(is_int64_or_int32(index),
              "index_add_(): Expected dtype int32/int64 for index but got: ", index.dtype());
  TAEDA_CHECK(self.dtype() == source.dtype(), "index_add_(): self (", self.dtype(),
              ") and source (", source.dtype(), ") must have the same scalar type");
  TAEDA_CHECK(source.dim() == 0 || dim < source.dim(), "index_add_(): Indexing dim ", dim,
              " is out of bounds of the source tensor with dim ", source.dim());
  const SymInt count = source.dim() == 0 ? SymInt(1) : source.sym_sizes()[dim];
  TAEDA_CHECK(index.sym_numel() == count, "index_add_(): Number of indices (", index.sym_numel(),
              ") should be equal to source.size(dim): (", count, "), for dim: ", dim);
  TAEDA_CHECK(SymIntList(slice_sizes(self, dim)) == SymIntList(slice_sizes(source, dim)),
              "source tensor shape must match self tensor shape, excluding the specified "
              "dimension. Got self.shape = ",
              self.sym_sizes(), " source.shape = ", source.sym_sizes());
  return like(self);
}

OutSpec index_copy_spec(const Tensor& self, int64_t dim, const Tensor& index,
                        const Tensor& source) {
  check_devices("index_copy", self, index, &source);
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK_INDEX(index.dim() < 2, "index_copy_(): Index should have dimension 1 or 0 (got ",
                    index.dim(), ")");
  const SymInt count = index.sym_numel();
  TAEDA_CHECK_INDEX(source.dim() > 0 || count == SymInt(1),
                    "index_copy_(): When source is scalar, index should have one element (got ",
                    count, ")");
  TAEDA_CHECK_INDEX(source.dim() == self.dim() || source.dim() == 0 || self.dim() == 0,
                    "index_copy_(): When source and destination are not scalars, their "
                    "dimensionality must match. Source dimensionality (",
                    source.dim(), "), destination dimensionality (", self.dim(), ")");
  TAEDA_CHECK(index.dtype() == DType::Int64,
              "index_copy_(): Expected a long tensor for index, but got ", index.dtype());
  TAEDA_CHECK(self.dtype() == source.dtype(),
              "index_copy_(): self and source expected to have the same dtype, but got (self) ",
              self.dtype(), " and (source) ", source.dtype());
  const SymIntVec to = slice_sizes(self, dim), from = slice_sizes(source, dim);
  TAEDA_CHECK(SymIntList(to) == SymIntList(from),
              "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
              "slice shape: ",
              SymIntList(to), " at dimension ", dim, " and source slice shape: ", SymIntList(from),
              " at dimension ", dim, ".");
  TAEDA_CHECK_INDEX(source.dim() == 0 || count == source.sym_sizes()[dim],
                    "index_copy_(): Number of indices (", count,
                    ") should be equal to source.size(dim) (",
                    source.dim() ? source.sym_sizes()[dim] : SymInt(1), ")");
  return like(self);
}

OutSpec index_fill_int_Scalar_spec(const Tensor& self, int64_t dim, const Tensor& index,
                                   const Scalar& value) {
  check_devices("index_fill", self, index, nullptr);
  wrap_dim(dim, self.dim());
  TAEDA_CHECK_INDEX(index.dtype() == DType::Int64,
                    "index_fill_(): Expected dtype int64 for index.");
  TAEDA_CHECK(index.dim() <= 1, "Index has to be a vector/scalar");
  TAEDA_CHECK(!value.is_complex() || self.is_complex(),
              "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  OutSpec spec = like(self);
  spec.strides = strides_like(self, MemoryFormat::Preserve);
  return spec;
}

OutSpec index_fill_int_Tensor_spec(const Tensor& self, int64_t dim, const Tensor& index,
                                   const Tensor& value) {
  TAEDA_CHECK(value.dim() == 0,
              "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  return index_fill_int_Scalar_spec(self, dim, index,
                                    value.is_complex() ? Scalar(Complex<double>(0, 1)) : Scalar(0));
}

}  // namespace taeda::impl
