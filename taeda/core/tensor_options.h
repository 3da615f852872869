// TensorOptions: dtype, device and other properties of a new tensor, each left open unless set.
//
//   empty({2, 3}, TensorOptions().dtype(DType::Half).device(DeviceType::CPU))
#pragma once

#include <concepts>
#include <optional>

#include "taeda/core/device.h"
#include "taeda/core/dtype.h"

namespace taeda {

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(DType dtype) : dtype_(dtype) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType device) : device_(device) {}
  TensorOptions(Layout layout) : layout_(layout) {}
  TensorOptions(MemoryFormat format) : memory_format_(format) {}
  explicit TensorOptions(std::string_view device) : device_(Device(device)) {}

  // Copies with one part set.
  [[nodiscard]] TensorOptions dtype(std::optional<DType> v) const { return with(&Self::dtype_, v); }
  [[nodiscard]] TensorOptions device(std::optional<Device> v) const {
    return with(&Self::device_, v);
  }
  [[nodiscard]] TensorOptions device(DeviceType type, int8_t index = -1) const {
    return device(Device(type, index));
  }
  [[nodiscard]] TensorOptions device(std::string_view text) const { return device(Device(text)); }
  [[nodiscard]] TensorOptions layout(std::optional<Layout> v) const {
    return with(&Self::layout_, v);
  }
  [[nodiscard]] TensorOptions requires_grad(std::optional<bool> v) const {
    return with(&Self::requires_grad_, v);
  }
  [[nodiscard]] TensorOptions pinned_memory(std::optional<bool> v) const {
    return with(&Self::pinned_memory_, v);
  }
  [[nodiscard]] TensorOptions memory_format(std::optional<MemoryFormat> v) const {
    return with(&Self::memory_format_, v);
  }

  // The property that was set, or else PyTorch's default.
  DType dtype() const { return dtype_ ? *dtype_ : default_dtype(); }
  Device device() const { return device_.value_or(default_device()); }
  Layout layout() const { return layout_.value_or(Layout::Strided); }
  bool requires_grad() const { return requires_grad_.value_or(false); }
  bool pinned_memory() const { return pinned_memory_.value_or(false); }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  bool has_layout() const { return layout_.has_value(); }
  bool has_requires_grad() const { return requires_grad_.has_value(); }
  bool has_pinned_memory() const { return pinned_memory_.has_value(); }
  bool has_memory_format() const { return memory_format_.has_value(); }
  std::optional<DType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  std::optional<Layout> layout_opt() const { return layout_; }
  std::optional<bool> requires_grad_opt() const { return requires_grad_; }
  std::optional<bool> pinned_memory_opt() const { return pinned_memory_; }
  std::optional<MemoryFormat> memory_format_opt() const { return memory_format_; }

 private:
  using Self = TensorOptions;
  template <class T>
  TensorOptions with(std::optional<T> Self::* part, std::optional<T> value) const {
    TensorOptions out = *this;
    out.*part = value;
    return out;
  }

  std::optional<DType> dtype_;
  std::optional<Device> device_;
  std::optional<Layout> layout_;
  std::optional<bool> requires_grad_, pinned_memory_;
  std::optional<MemoryFormat> memory_format_;
};

// Options, or what stands for them: a dtype, a device. As a template such a parameter fits better
// than the operators' own optional arguments.
template <class T>
concept OptionsLike = std::convertible_to<const T&, TensorOptions>;

// What Tensor::type() gives: the dtype and the kind of device, read by code from before options.
struct TensorTypeProperties {
  DType dtype;
  DeviceType device;
  operator DType() const { return dtype; }
  DType scalarType() const { return dtype; }
  DeviceType device_type() const { return device; }
  bool is_cuda() const { return device == DeviceType::CUDA; }
};

}  // namespace taeda
