// New tensors with the type, place or size of a given one.
#include "taeda/ops/factory_like/declarations.h"

#include <algorithm>

#include "taeda/ops/functions.h"
#include "taeda/ops/options.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

bool has_plain_strides(const Tensor& t) {
  return t.is_contiguous() && !t.impl()->has_symbolic_sizes() && !has_own_strides(t);
}

}  // namespace

Tensor empty_like(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                  std::optional<Device> device, std::optional<bool> pin_memory,
                  std::optional<MemoryFormat> memory_format) {
  check_options(layout, pin_memory);
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
  const bool is_plain = format == MemoryFormat::Preserve ? has_plain_strides(self)
                                                         : format == MemoryFormat::Contiguous;
  const Tensor made =
      new_tensor(self.sym_sizes(), is_plain ? SymIntVec() : strides_like(self, format),
                 dtype.value_or(self.dtype()), device.value_or(self.device()));
  fill_unwritten(made);
  return made;
}

Tensor zeros_like(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                  std::optional<Device> device, std::optional<bool> pin_memory,
                  std::optional<MemoryFormat> memory_format) {
  return taeda::empty_like(self, dtype, layout, device, pin_memory, memory_format).zero_();
}
Tensor ones_like(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                 std::optional<Device> device, std::optional<bool> pin_memory,
                 std::optional<MemoryFormat> memory_format) {
  return taeda::empty_like(self, dtype, layout, device, pin_memory, memory_format).fill_(Scalar(1));
}
Tensor full_like(const Tensor& self, const Scalar& fill_value, std::optional<DType> dtype,
                 std::optional<Layout> layout, std::optional<Device> device,
                 std::optional<bool> pin_memory, std::optional<MemoryFormat> memory_format) {
  return taeda::empty_like(self, dtype, layout, device, pin_memory, memory_format)
      .fill_(fill_value);
}

Tensor new_empty(const Tensor& self, SymIntList size, std::optional<DType> dtype,
                 std::optional<Layout> layout, std::optional<Device> device,
                 std::optional<bool> pin_memory) {
  return taeda::empty(size, dtype.value_or(self.dtype()), layout, device.value_or(self.device()),
                      pin_memory);
}
Tensor new_empty_strided(const Tensor& self, SymIntList size, SymIntList stride,
                         std::optional<DType> dtype, std::optional<Layout> layout,
                         std::optional<Device> device, std::optional<bool> pin_memory) {
  return taeda::empty_strided(size, stride, dtype.value_or(self.dtype()), layout,
                              device.value_or(self.device()), pin_memory);
}
Tensor new_zeros(const Tensor& self, SymIntList size, std::optional<DType> dtype,
                 std::optional<Layout> layout, std::optional<Device> device,
                 std::optional<bool> pin_memory) {
  return self.new_empty(size, dtype, layout, device, pin_memory).zero_();
}
Tensor new_ones(const Tensor& self, SymIntList size, std::optional<DType> dtype,
                std::optional<Layout> layout, std::optional<Device> device,
                std::optional<bool> pin_memory) {
  return self.new_empty(size, dtype, layout, device, pin_memory).fill_(Scalar(1));
}
Tensor new_full(const Tensor& self, SymIntList size, const Scalar& fill_value,
                std::optional<DType> dtype, std::optional<Layout> layout,
                std::optional<Device> device, std::optional<bool> pin_memory) {
  return self.new_empty(size, dtype, layout, device, pin_memory).fill_(fill_value);
}

}  // namespace taeda::impl
