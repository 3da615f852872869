// torch::stable: operators as functions.
#pragma once

#include "ATen/ATen.h"
#include "torch/csrc/stable/tensor.h"

namespace torch::stable {

using ::at::amax;
using ::at::clone;
using ::at::empty_like;
using ::at::flatten;
using ::at::full;
using ::at::matmul;
using ::at::narrow;
using ::at::reshape;
using ::at::select;
using ::at::squeeze;
using ::at::transpose;
using ::at::unsqueeze;

inline Tensor contiguous(const Tensor& self,
                         ::taeda::MemoryFormat format = ::taeda::MemoryFormat::Contiguous) {
  return self.contiguous(format);
}
inline Tensor view(const Tensor& self, ::taeda::IntList size) { return self.view(size); }
inline Tensor fill_(const Tensor& self, const ::taeda::Scalar& value) {
  return Tensor(self).fill_(value);
}
inline Tensor zero_(Tensor& self) { return self.zero_(); }
inline Tensor copy_(Tensor& self, const Tensor& src, bool non_blocking = false) {
  return self.copy_(src, non_blocking);
}
inline Tensor subtract(const Tensor& self, const Tensor& other, double alpha = 1) {
  return self.sub(other, alpha);
}
inline Tensor sum(const Tensor& self, std::optional<::taeda::IntList> dim = std::nullopt,
                  bool keepdim = false, std::optional<ScalarType> dtype = std::nullopt) {
  return self.sum(dim, keepdim, dtype);
}
inline Tensor to(const Tensor& self, Device device, bool non_blocking = false, bool copy = false) {
  return self.to(device, std::nullopt, non_blocking, copy);
}
inline Tensor to(const Tensor& self, std::optional<ScalarType> dtype = std::nullopt,
                 std::optional<::taeda::Layout> = std::nullopt,
                 std::optional<Device> device = std::nullopt, std::optional<bool> = std::nullopt,
                 bool non_blocking = false, bool copy = false,
                 std::optional<::taeda::MemoryFormat> format = std::nullopt) {
  return self.to(device, dtype, non_blocking, copy, format);
}
inline Tensor empty(::taeda::IntList size, std::optional<ScalarType> dtype = std::nullopt,
                    std::optional<::taeda::Layout> layout = std::nullopt,
                    std::optional<Device> device = std::nullopt,
                    std::optional<bool> pin_memory = std::nullopt,
                    std::optional<::taeda::MemoryFormat> format = std::nullopt) {
  return ::taeda::empty(size, dtype, layout, device, pin_memory, format);
}
inline Tensor new_empty(const Tensor& self, ::taeda::IntList size,
                        std::optional<ScalarType> dtype = std::nullopt,
                        std::optional<::taeda::Layout> layout = std::nullopt,
                        std::optional<Device> device = std::nullopt,
                        std::optional<bool> pin_memory = std::nullopt) {
  return self.new_empty(size, dtype, layout, device, pin_memory);
}
inline Tensor new_zeros(const Tensor& self, ::taeda::IntList size,
                        std::optional<ScalarType> dtype = std::nullopt,
                        std::optional<::taeda::Layout> layout = std::nullopt,
                        std::optional<Device> device = std::nullopt,
                        std::optional<bool> pin_memory = std::nullopt) {
  return self.new_zeros(size, dtype, layout, device, pin_memory);
}
// A tensor over memory that somebody else made; `deleter(data)` runs when the last view is gone.
template <class Deleter>
Tensor from_blob(void* data, ::taeda::IntList sizes, ::taeda::IntList strides, Device device,
                 ScalarType dtype, Deleter deleter) {
  return ::at::from_blob(data, sizes, strides, std::move(deleter),
                         ::taeda::TensorOptions(dtype).device(device));
}
inline Tensor from_blob(void* data, ::taeda::IntList sizes, ::taeda::IntList strides, Device device,
                        ScalarType dtype) {
  return from_blob(data, sizes, strides, device, dtype, [](void*) {});
}
inline Tensor mm_out(Tensor& out, const Tensor& self, const Tensor& mat2) {
  return ::taeda::mm_out(out, self, mat2);
}
inline Tensor bmm_out(Tensor& out, const Tensor& self, const Tensor& mat2) {
  return ::taeda::bmm_out(out, self, mat2);
}
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& body) {
  ::at::parallel_for(begin, end, grain_size, body);
}
inline uint32_t get_num_threads() { return static_cast<uint32_t>(::at::get_num_threads()); }

}  // namespace torch::stable
