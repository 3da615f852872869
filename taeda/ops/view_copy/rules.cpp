// Views followed by a copy: the same results in memory of their own.
#include "taeda/ops/view_copy/declarations.h"

#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/view/gradients.h"
#include "taeda/ops/view_copy/written.h"

namespace taeda::impl {
namespace {

Tensor own(const Tensor& view) { return view.clone(MemoryFormat::Contiguous); }
std::vector<Tensor> own(std::vector<Tensor> views) {
  for (Tensor& t : views) t = own(t);
  return views;
}
// A copy has any shape of as many elements, also where no view of the original has it.
Tensor viewed(const Tensor& self, SymIntList size) {
  return self.is_contiguous() ? self.view(size) : taeda::_unsafe_view(own(self), size);
}

}  // namespace

Tensor alias_copy(const Tensor& self) { return own(taeda::alias(self)); }
Tensor& alias_copy_out(const Tensor& self, Tensor& out) {
  return written(out, self, taeda::alias(self));
}
Tensor as_strided_copy(const Tensor& self, SymIntList size, SymIntList stride,
                       std::optional<SymInt> storage_offset) {
  return own(self.as_strided(size, stride, storage_offset));
}
Tensor& as_strided_copy_out(const Tensor& self, SymIntList size, SymIntList stride,
                            std::optional<SymInt> storage_offset, Tensor& out) {
  return written(out, self, self.as_strided(size, stride, storage_offset));
}
Tensor diagonal_copy(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  return own(self.diagonal(offset, dim1, dim2));
}
Tensor& diagonal_copy_out(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2,
                          Tensor& out) {
  return written(out, self, self.diagonal(offset, dim1, dim2));
}
Tensor expand_copy(const Tensor& self, SymIntList size, bool implicit) {
  return own(self.expand(size, implicit));
}
Tensor& expand_copy_out(const Tensor& self, SymIntList size, bool implicit, Tensor& out) {
  return written(out, self, self.expand(size, implicit));
}
Tensor narrow_copy(const Tensor& self, int64_t dim, SymInt start, SymInt length) {
  return own(self.narrow(dim, start, length));
}
Tensor& narrow_copy_out(const Tensor& self, int64_t dim, SymInt start, SymInt length, Tensor& out) {
  return written(out, self, self.narrow(dim, start, length));
}
Tensor permute_copy(const Tensor& self, IntList dims) { return own(self.permute(dims)); }
Tensor& permute_copy_out(const Tensor& self, IntList dims, Tensor& out) {
  return written(out, self, self.permute(dims));
}
Tensor squeeze_copy(const Tensor& self) { return own(self.squeeze()); }
Tensor& squeeze_copy_out(const Tensor& self, Tensor& out) {
  return written(out, self, self.squeeze());
}
Tensor squeeze_copy_dim(const Tensor& self, int64_t dim) { return own(self.squeeze(dim)); }
Tensor& squeeze_copy_dim_out(const Tensor& self, int64_t dim, Tensor& out) {
  return written(out, self, self.squeeze(dim));
}
Tensor squeeze_copy_dims(const Tensor& self, IntList dim) { return own(self.squeeze(dim)); }
Tensor& squeeze_copy_dims_out(const Tensor& self, IntList dim, Tensor& out) {
  return written(out, self, self.squeeze(dim));
}
Tensor t_copy(const Tensor& self) { return own(self.t()); }
Tensor& t_copy_out(const Tensor& self, Tensor& out) { return written(out, self, self.t()); }
Tensor transpose_copy_int(const Tensor& self, int64_t dim0, int64_t dim1) {
  return own(self.transpose(dim0, dim1));
}
Tensor& transpose_copy_int_out(const Tensor& self, int64_t dim0, int64_t dim1, Tensor& out) {
  return written(out, self, self.transpose(dim0, dim1));
}
Tensor unfold_copy(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  return own(self.unfold(dimension, size, step));
}
Tensor& unfold_copy_out(const Tensor& self, int64_t dimension, int64_t size, int64_t step,
                        Tensor& out) {
  return written(out, self, self.unfold(dimension, size, step));
}
Tensor unsqueeze_copy(const Tensor& self, int64_t dim) { return own(self.unsqueeze(dim)); }
Tensor& unsqueeze_copy_out(const Tensor& self, int64_t dim, Tensor& out) {
  return written(out, self, self.unsqueeze(dim));
}
Tensor view_copy(const Tensor& self, SymIntList size) {
  return self.is_contiguous() ? own(self.view(size)) : viewed(self, size);
}
Tensor& view_copy_out(const Tensor& self, SymIntList size, Tensor& out) {
  return written(out, self, viewed(self, size));
}
Tensor view_copy_dtype(const Tensor& self, DType dtype) { return own(self.view(dtype)); }
Tensor& view_copy_dtype_out(const Tensor& self, DType dtype, Tensor& out) {
  return written(out, self, self.view(dtype));
}
Tensor select_copy_int(const Tensor& self, int64_t dim, SymInt index) {
  return own(self.select(dim, index));
}
Tensor& select_copy_int_out(const Tensor& self, int64_t dim, SymInt index, Tensor& out) {
  return written(out, self, self.select(dim, index));
}
Tensor slice_copy_Tensor(const Tensor& self, int64_t dim, std::optional<SymInt> start,
                         std::optional<SymInt> end, SymInt step) {
  return own(self.slice(dim, start, end, step));
}
Tensor& slice_copy_Tensor_out(const Tensor& self, int64_t dim, std::optional<SymInt> start,
                              std::optional<SymInt> end, SymInt step, Tensor& out) {
  return written(out, self, self.slice(dim, start, end, step));
}
Tensor detach_copy(const Tensor& self) { return own(self.detach()); }
Tensor& detach_copy_out(const Tensor& self, Tensor& out) {
  return written(out, self, self.detach());
}
std::vector<Tensor> unbind_copy_int(const Tensor& self, int64_t dim) {
  return own(self.unbind(dim));
}
std::vector<Tensor> split_copy_Tensor(const Tensor& self, SymInt split_size, int64_t dim) {
  return own(self.split(split_size, dim));
}
std::vector<Tensor> split_with_sizes_copy(const Tensor& self, SymIntList split_sizes, int64_t dim) {
  return own(self.split_with_sizes(split_sizes, dim));
}

// The copy has the strides and the offset of `self`, which the view's own count on.
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, SymIntList size, SymIntList stride,
                          std::optional<SymInt> storage_offset) {
  TAEDA_CHECK(size.size() == stride.size(), "mismatch in length of strides and shape: got ", size,
              " and ", stride);
  const SymIntVec own_sizes(self.sym_sizes()), own_strides(self.sym_strides());
  const SymInt own_offset = self.impl()->sym_storage_offset();
  const SymInt offset = storage_offset.value_or(own_offset);
  TAEDA_CHECK(offset.is_symbolic() || (offset.word() >= 0 && offset.word() <= INT64_MAX / 4),
              "Tensor: invalid storage offset ", offset);
  const SymInt count = sym_max(sym_max(gradients::storage_reach(own_sizes, own_strides, own_offset),
                                       gradients::storage_reach(size, stride, offset)),
                               SymInt(0));
  Tensor memory = self.as_strided({count}, {SymInt(1)}, SymInt(0)).clone();
  // Under vmap the copy is batched where `src` alone is.
  if (dispatch::wrapper_of(src) && !dispatch::wrapper_of(self))
    memory = src.new_empty({count}, self.dtype()).copy_(memory);
  Tensor part = memory.as_strided(size, stride, offset);
  TAEDA_CHECK(src.sym_sizes() == part.sym_sizes(),
              "expected src to have a size equal to the slice of self. src size = ",
              src.sym_sizes(), ", slice size = ", part.sym_sizes());
  part.copy_(src);
  return memory.as_strided(own_sizes, own_strides, own_offset);
}

}  // namespace taeda::impl
