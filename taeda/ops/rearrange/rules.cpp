// Shape rules of copies in another order, and those made of others.
#include "taeda/ops/rearrange/declarations.h"

#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/size_limits.h"

namespace taeda::impl {

OutSpec repeat_spec(const Tensor& self, SymIntList repeats) {
  TAEDA_CHECK(
      static_cast<int64_t>(repeats.size()) >= self.dim(),
      "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  SymIntVec sizes(repeats);
  const size_t lead = repeats.size() - static_cast<size_t>(self.dim());
  for (int64_t i = 0; i < self.dim(); ++i)
    TAEDA_CHECK(multiply_within_limits(sizes[lead + i], self.sym_sizes()[i]),
                "numel: integer multiplication overflow for sizes ", self.sym_sizes(),
                " and repeats ", repeats);
  for (size_t i = 0; i < sizes.size(); ++i)
    TAEDA_CHECK(repeats[i] >= SymInt(0), "Trying to create tensor with negative dimension ",
                sizes[i], ": ", SymIntList(sizes));
  return OutSpec(SymIntList(sizes), self.dtype(), self.device());
}

Tensor tile(const Tensor& self, SymIntList dims) {
  SymIntVec repeats;
  for (int64_t i = static_cast<int64_t>(dims.size()); i < self.dim(); ++i)
    repeats.push_back(SymInt(1));
  for (const SymInt& d : dims) repeats.push_back(d);
  return self.repeat(repeats);
}

namespace {

// PyTorch joins two parts per dimension, and the result has their format where both have the same.
// Without dimensions the elements are moved in a row. Empty: contiguous.
SymIntVec rolled_strides(const Tensor& self, SymIntList shifts, IntList dims) {
  if (dims.empty()) return {};
  if (is_known(SymOp::Eq, self.sym_numel(), 0)) return strides_like(self, MemoryFormat::Preserve);
  if (self.is_contiguous() || self.dim() < 4 || self.dim() > 5) return {};
  SymIntVec strides(self.sym_strides());
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = wrap_dim(dims[i], self.dim());
    const SymInt& size = self.sym_sizes()[d];
    const SymInt start = ((size - shifts[i]) % size + size) % size;
    for (const SymInt& length : {size - start, start}) {
      SymIntVec sizes(self.sym_sizes());
      sizes[d] = length;
      const Tensor part =
          make_alias_sym(self, sizes, strides, SymInt(self.impl()->storage_offset()));
      if (part.suggested_format() == MemoryFormat::Contiguous) return {};
    }
    strides = channels_last_strides(self.sym_sizes());
  }
  return strides;
}

}  // namespace

OutSpec roll_spec(const Tensor& self, SymIntList shifts, IntList dims) {
  TAEDA_CHECK(!shifts.empty(), "`shifts` required");
  TAEDA_CHECK(shifts.size() == dims.size() || (dims.empty() && shifts.size() == 1),
              "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  for (int64_t d : dims) wrap_dim(d, self.dim(), /*wrap_scalar=*/false);
  OutSpec spec(self.sym_sizes(), self.dtype(), self.device());
  spec.strides = rolled_strides(self, shifts, dims);
  return spec;
}

OutSpec flip_spec(const Tensor& self, IntList dims) {
  dim_bitset(dims, self.dim(), false);
  OutSpec spec(self.sym_sizes(), self.dtype(), self.device());
  spec.strides = strides_like(self, MemoryFormat::Preserve);
  return spec;
}

Tensor fliplr(const Tensor& self) {
  TAEDA_CHECK(self.dim() >= 2, "Input must be >= 2-d.");
  return self.flip({1});
}
Tensor flipud(const Tensor& self) {
  TAEDA_CHECK(self.dim() >= 1, "Input must be >= 1-d.");
  return self.flip({0});
}

Tensor rot90(const Tensor& self, int64_t k, IntList dims) {
  TAEDA_CHECK(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  TAEDA_CHECK(self.dim() >= 2, "expected total dims >= 2, but got total dims = ", self.dim());
  const int64_t a = wrap_dim(dims[0], self.dim()), b = wrap_dim(dims[1], self.dim());
  TAEDA_CHECK(a != b, "expected rotation dims to be different, but got dim0 = ", dims[0],
              " and dim1 = ", dims[1]);
  switch ((k % 4 + 4) % 4) {
    case 1: return self.flip({b}).transpose(a, b);
    case 2: return self.flip({a, b});
    case 3: return self.flip({a}).transpose(a, b);
    default: return self.clone();
  }
}

namespace {

OutSpec triangle_spec(const Tensor& self, const char* name) {
  TAEDA_CHECK(self.dim() >= 2, name, ": input tensor must have at least 2 dimensions");
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

}  // namespace

OutSpec tril_spec(const Tensor& self, SymInt) { return triangle_spec(self, "tril"); }
OutSpec triu_spec(const Tensor& self, SymInt) { return triangle_spec(self, "triu"); }

}  // namespace taeda::impl
