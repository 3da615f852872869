// Random tensors as functions of rand and randn, with the numbers that the operators draw.
#include <algorithm>
#include <numeric>

#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda {
namespace {

Tensor normal_numbers(SymIntList size, const Tensor& model, const Generator& generator) {
  if (!generator.defined()) return taeda::randn(size, model.dtype(), {}, model.device());
  return taeda::randn(size, generator, model.dtype(), {}, model.device());
}

Tensor shifted(const Tensor& model, const Tensor& mean, const Tensor& std,
               const Generator& generator) {
  const SymIntVec shape = broadcast_shapes(mean.sym_sizes(), std.sym_sizes());
  return (normal_numbers(shape, model, generator) * std + mean).to(model.dtype());
}

// Drawn in the order of elements, then laid out as self is where the format says so.
Tensor laid_out_like(const Tensor& drawn, const Tensor& self,
                     std::optional<MemoryFormat> memory_format) {
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
  if (format == MemoryFormat::Contiguous ||
      (format == MemoryFormat::Preserve && self.is_contiguous()))
    return drawn;
  const SymIntVec strides = strides_like(self, format);
  const auto ndim = static_cast<size_t>(self.dim());
  std::vector<int64_t> order(ndim), back(ndim);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
  });
  for (size_t i = 0; i < ndim; ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return taeda::permute(taeda::permute(drawn, order).clone(MemoryFormat::Contiguous), back);
}

Tensor number(double v) { return wrapped_scalar(Scalar(v)); }

}  // namespace

TAEDA_DECOMPOSITION(rand_like,
                    (const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory,
                     std::optional<MemoryFormat> memory_format)) {
  const Tensor drawn = taeda::rand(self.sym_sizes(), dtype.value_or(self.dtype()), layout,
                                   device.value_or(self.device()), pin_memory);
  return laid_out_like(drawn, self, memory_format);
}
TAEDA_DECOMPOSITION(randn_like,
                    (const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory,
                     std::optional<MemoryFormat> memory_format)) {
  const Tensor drawn = taeda::randn(self.sym_sizes(), dtype.value_or(self.dtype()), layout,
                                    device.value_or(self.device()), pin_memory);
  return laid_out_like(drawn, self, memory_format);
}

TAEDA_DECOMPOSITION(normal_float_float,
                    (double mean, double std, SymIntList size, const Generator& generator,
                     std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory)) {
  const Tensor drawn = generator.defined()
                           ? taeda::randn(size, generator, dtype, layout, device, pin_memory)
                           : taeda::randn(size, dtype, layout, device, pin_memory);
  return drawn * Scalar(std) + Scalar(mean);
}
TAEDA_DECOMPOSITION(normal_Tensor_float,
                    (const Tensor& mean, double std, const Generator& generator)) {
  return shifted(mean, mean, number(std), generator);
}
TAEDA_DECOMPOSITION(normal_float_Tensor,
                    (double mean, const Tensor& std, const Generator& generator)) {
  return shifted(std, number(mean), std, generator);
}
TAEDA_DECOMPOSITION(normal_Tensor_Tensor,
                    (const Tensor& mean, const Tensor& std, const Generator& generator)) {
  return shifted(mean, mean, std, generator);
}

}  // namespace taeda
