// Copies, conversions and fills.
#include "taeda/ops/convert/declarations.h"

#include "taeda/core/unbacked.h"
#include "taeda/dispatch/levels.h"
#include "taeda/ops/convert/same_memory.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/number_range.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {

Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  Tensor out = taeda::empty_like(self, {}, {}, {}, {}, memory_format);
  out.copy_(self);
  return out;
}

Tensor contiguous(const Tensor& self, MemoryFormat memory_format) {
  TAEDA_CHECK(memory_format != MemoryFormat::Preserve,
              "preserve memory format is unsupported by the contiguous operator");
  return self.is_contiguous(memory_format) ? self : self.clone(memory_format);
}

Tensor& copy__meta(Tensor& self, const Tensor& src, bool) {
  TAEDA_CHECK_NOT_IMPLEMENTED(self.is_meta(), "Cannot copy out of meta tensor; no data!");
  const SymIntVec shape = broadcast_shapes(self.sym_sizes(), src.sym_sizes());
  TAEDA_CHECK(SymIntList(shape) == self.sym_sizes(), "output with shape ", self.sym_sizes(),
              " doesn't match the broadcast shape ", shape);
  if (is_same_memory(self, src)) return self;
  check_no_internal_overlap(self);
  check_no_partial_overlap(self, src);
  return self;
}

Tensor copy(const Tensor& self, const Tensor& src, bool non_blocking) {
  Tensor out = repeats_elements(self)
                   ? taeda::empty_like(self)
                   : self.new_empty_strided(self.sym_sizes(), self.sym_strides());
  out.copy_(src, non_blocking);
  return out;
}

Tensor _to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                std::optional<Device> device, std::optional<bool> pin_memory, bool non_blocking,
                std::optional<MemoryFormat> memory_format) {
  Tensor out = taeda::empty_like(self, dtype, layout, device, pin_memory, memory_format);
  out.copy_(self, non_blocking);
  return out;
}

Tensor to_device(const Tensor& self, std::optional<Device> device, std::optional<DType> dtype,
                 bool non_blocking, bool copy, std::optional<MemoryFormat> memory_format) {
  const bool same_device = !device || device->type == self.device().type;
  const bool same_dtype = !dtype || *dtype == self.dtype();
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
  // Strides that fit two formats count as those of the contiguous one.
  const bool same_format = format == MemoryFormat::Preserve || self.suggested_format() == format;
  if (same_device && same_dtype && same_format && !copy) return self;
  return taeda::_to_copy(self, dtype, {}, device, {}, non_blocking, memory_format);
}

Tensor to_dtype(const Tensor& self, DType dtype, bool non_blocking, bool copy,
                std::optional<MemoryFormat> memory_format) {
  return to_device(self, {}, dtype, non_blocking, copy, memory_format);
}

Tensor to_other(const Tensor& self, const Tensor& other, bool non_blocking, bool copy,
                std::optional<MemoryFormat> memory_format) {
  return to_device(self, other.device(), other.dtype(), non_blocking, copy, memory_format);
}

Tensor& fill__Scalar_meta(Tensor& self, const Scalar& value) {
  // A graph fills without a check: the range of a symbol is a guard, and a constant is looked at
  // here. A tensor without numbers takes any.
  const bool is_traced = value.is_symbolic() || self.keys().has(Key::Fake);
  if (is_traced && !is_known(SymOp::Eq, self.sym_numel(), 0)) check_fits(value, self.dtype());
  return self;
}

Tensor& fill__Tensor(Tensor& self, const Tensor& value) {
  TAEDA_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
              value.dim(), " dimensions.");
  // An element of self is read before the first is written.
  return self.copy_(self.is_alias_of(value) ? value.clone() : value);
}

Tensor fill_Scalar(const Tensor& self, const Scalar& value) {
  Tensor out = self.clone();
  return out.fill_(value);
}

Tensor fill_Tensor(const Tensor& self, const Tensor& value) {
  // Under vmap the result is batched where `value` alone is.
  const bool is_widened = dispatch::wrapper_of(value) && !dispatch::wrapper_of(self);
  Tensor out = is_widened ? value.new_empty(self.sym_sizes(), self.dtype()) : self.clone();
  return out.fill_(value);
}

Tensor& zero_(Tensor& self) { return self.fill_(Scalar(0)); }

}  // namespace taeda::impl
