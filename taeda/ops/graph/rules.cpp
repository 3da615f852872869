// Operators that graphs hold.
#include "taeda/ops/functions.h"
#include "taeda/ops/graph/declarations.h"

namespace taeda::impl {

SymInt sym_size_int(const Tensor& self, int64_t dim) { return self.sym_size(dim); }
SymInt sym_stride_int(const Tensor& self, int64_t dim) {
  return self.sym_strides()[static_cast<size_t>(wrap_dim(dim, self.dim(), false))];
}
SymInt sym_numel(const Tensor& self) { return self.sym_numel(); }
SymInt sym_storage_offset(const Tensor& self) { return self.impl()->sym_storage_offset(); }
Tensor lift_fresh_copy(const Tensor& self) { return self.clone(); }

}  // namespace taeda::impl
