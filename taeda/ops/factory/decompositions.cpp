// New tensors as functions of full, empty and arange.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/factory/spaced_numbers.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/options.h"
#include "taeda/ops/shape.h"

namespace taeda {
namespace {

Tensor identity(const SymInt& n, const SymInt& m, std::optional<DType> dtype,
                std::optional<Layout> layout, std::optional<Device> device,
                std::optional<bool> pin_memory) {
  const auto range = [&](const SymInt& length) {
    return taeda::arange(Scalar(length), DType::Int64, layout, device, pin_memory);
  };
  return taeda::eq(range(n).unsqueeze(1), range(m)).to(dtype.value_or(default_dtype()));
}

}  // namespace

TAEDA_DECOMPOSITION(zeros,
                    (SymIntList size, std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  return taeda::full(size, Scalar(0), dtype.value_or(default_dtype()), layout, device, pin_memory);
}
TAEDA_DECOMPOSITION(ones,
                    (SymIntList size, std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  return taeda::full(size, Scalar(1), dtype.value_or(default_dtype()), layout, device, pin_memory);
}
TAEDA_DECOMPOSITION(eye, (SymInt n, std::optional<DType> dtype, std::optional<Layout> layout,
                          std::optional<Device> device, std::optional<bool> pin_memory)) {
  return identity(n, n, dtype, layout, device, pin_memory);
}
TAEDA_DECOMPOSITION(eye_m,
                    (SymInt n, SymInt m, std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  return identity(n, m, dtype, layout, device, pin_memory);
}

TAEDA_DECOMPOSITION(linspace, (const Scalar& start, const Scalar& end, int64_t steps,
                               std::optional<DType> dtype, std::optional<Layout> layout,
                               std::optional<Device> device, std::optional<bool> pin_memory)) {
  return spaced_numbers(number_tensor(start), number_tensor(end), steps, {}, dtype, layout, device,
                        pin_memory);
}
TAEDA_DECOMPOSITION(linspace_Tensor_Tensor,
                    (const Tensor& start, const Tensor& end, int64_t steps,
                     std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  return spaced_numbers(start, end, steps, {}, dtype, layout, device, pin_memory);
}
TAEDA_DECOMPOSITION(linspace_Tensor_Scalar,
                    (const Tensor& start, const Scalar& end, int64_t steps,
                     std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  return spaced_numbers(start, number_tensor(end), steps, {}, dtype, layout, device, pin_memory);
}
TAEDA_DECOMPOSITION(linspace_Scalar_Tensor,
                    (const Scalar& start, const Tensor& end, int64_t steps,
                     std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  return spaced_numbers(number_tensor(start), end, steps, {}, dtype, layout, device, pin_memory);
}
TAEDA_DECOMPOSITION(logspace, (const Scalar& start, const Scalar& end, int64_t steps, double base,
                               std::optional<DType> dtype, std::optional<Layout> layout,
                               std::optional<Device> device, std::optional<bool> pin_memory)) {
  return spaced_numbers(number_tensor(start), number_tensor(end), steps, base, dtype, layout,
                        device, pin_memory);
}
TAEDA_DECOMPOSITION(logspace_Tensor_Tensor,
                    (const Tensor& start, const Tensor& end, int64_t steps, double base,
                     std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  return spaced_numbers(start, end, steps, base, dtype, layout, device, pin_memory);
}
TAEDA_DECOMPOSITION(logspace_Tensor_Scalar,
                    (const Tensor& start, const Scalar& end, int64_t steps, double base,
                     std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  return spaced_numbers(start, number_tensor(end), steps, base, dtype, layout, device, pin_memory);
}
TAEDA_DECOMPOSITION(logspace_Scalar_Tensor,
                    (const Scalar& start, const Tensor& end, int64_t steps, double base,
                     std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  return spaced_numbers(number_tensor(start), end, steps, base, dtype, layout, device, pin_memory);
}

// ---- like a given tensor ----

TAEDA_DECOMPOSITION(empty_like,
                    (const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory,
                     std::optional<MemoryFormat> memory_format)) {
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
  const DType type = dtype.value_or(self.dtype());
  const Device place = device.value_or(self.device());
  const bool is_plain =
      format == MemoryFormat::Contiguous ||
      (format == MemoryFormat::Preserve && self.is_contiguous() && !has_own_strides(self));
  return is_plain ? taeda::empty(self.sym_sizes(), type, layout, place, pin_memory)
                  : taeda::empty_strided(self.sym_sizes(), strides_like(self, format), type, layout,
                                         place, pin_memory);
}
TAEDA_DECOMPOSITION(zeros_like,
                    (const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory,
                     std::optional<MemoryFormat> memory_format)) {
  return taeda::full_like(self, Scalar(0), dtype, layout, device, pin_memory, memory_format);
}
TAEDA_DECOMPOSITION(ones_like,
                    (const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory,
                     std::optional<MemoryFormat> memory_format)) {
  return taeda::full_like(self, Scalar(1), dtype, layout, device, pin_memory, memory_format);
}
TAEDA_DECOMPOSITION(new_full, (const Tensor& self, SymIntList size, const Scalar& fill_value,
                               std::optional<DType> dtype, std::optional<Layout> layout,
                               std::optional<Device> device, std::optional<bool> pin_memory)) {
  return taeda::full(size, fill_value, dtype.value_or(self.dtype()), layout,
                     device.value_or(self.device()), pin_memory);
}
TAEDA_DECOMPOSITION(new_zeros, (const Tensor& self, SymIntList size, std::optional<DType> dtype,
                                std::optional<Layout> layout, std::optional<Device> device,
                                std::optional<bool> pin_memory)) {
  return taeda::new_full(self, size, Scalar(0), dtype, layout, device, pin_memory);
}
TAEDA_DECOMPOSITION(new_ones, (const Tensor& self, SymIntList size, std::optional<DType> dtype,
                               std::optional<Layout> layout, std::optional<Device> device,
                               std::optional<bool> pin_memory)) {
  return taeda::new_full(self, size, Scalar(1), dtype, layout, device, pin_memory);
}

}  // namespace taeda
