// Where a tensor lives: a device type and an index. Layouts and memory formats beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "taeda/base/error.h"
#include "taeda/base/export.h"

namespace taeda {

// First one entry per backend, in the order of backend bits in a key set. The rest are the types of
// PyTorch's other backends, which are names alone: a device of such a type can be parsed, printed
// and compared, and no tensor lies on it. Their numbers lie above all bits of a key set.
enum class DeviceType : int8_t {
  CPU,
  CUDA,
  Meta,
  OpenCL,
  Lazy,
  PrivateUse1,
  PrivateUse2,
  PrivateUse3,
  IPU = 32,
  XPU,
  MKLDNN,
  OpenGL,
  IDEEP,
  HIP,
  VE,
  FPGA,
  MAIA,
  XLA,
  Vulkan,
  MPS,
  HPU,
  MTIA
};
constexpr int kNumDeviceTypes = 8;  // those with a backend
constexpr bool has_backend(DeviceType t) { return static_cast<int>(t) < kNumDeviceTypes; }

// "cpu", "cuda", ...; PrivateUse names can be changed by rename_device_type.
TAEDA_API std::string device_type_name(DeviceType t);
TAEDA_API void rename_device_type(DeviceType t, std::string name);

// A field that may also be called: device.type and device.type() are the same.
template <class T>
struct CallableField {
  T value;
  constexpr CallableField(T value) : value(value) {}
  constexpr operator T() const { return value; }
  constexpr T operator()() const { return value; }
  template <class Integer>
    requires(std::is_integral_v<Integer> && std::is_enum_v<T>)
  constexpr explicit operator Integer() const {
    return static_cast<Integer>(value);
  }
};

struct Device {
  using Type = DeviceType;  // PyTorch's name

  CallableField<DeviceType> type = DeviceType::CPU;
  CallableField<int8_t> index = int8_t{-1};  // -1: the current device of that type

  constexpr Device() = default;
  constexpr Device(DeviceType type, int8_t index = -1) : type(type), index(index) {}
  // Explicit: text must not become a device where both would do.
  template <class Text>
    requires(std::is_convertible_v<const Text&, std::string_view>)
  explicit Device(const Text& text) : Device(parse(text)) {}
  // Parses "cpu", "cuda:1"; throws RuntimeError with PyTorch's phrase on anything else.
  TAEDA_API static Device parse(std::string_view text);
  TAEDA_API std::string text() const;
  std::string str() const { return text(); }
  void set_index(int8_t value) { index = value; }
  constexpr bool is_cpu() const { return type == DeviceType::CPU; }
  constexpr bool is_cuda() const { return type == DeviceType::CUDA; }
  constexpr bool is_meta() const { return type == DeviceType::Meta; }
  bool is_privateuseone() const { return type == DeviceType::PrivateUse1; }
  constexpr bool is_mps() const { return type == DeviceType::MPS; }
  constexpr bool is_xpu() const { return type == DeviceType::XPU; }
  constexpr bool is_hip() const { return type == DeviceType::HIP; }
  constexpr bool is_xla() const { return type == DeviceType::XLA; }
  constexpr bool is_mtia() const { return type == DeviceType::MTIA; }
  constexpr bool has_index() const { return index() >= 0; }
  friend constexpr bool operator==(Device a, Device b) {
    return a.type() == b.type() && a.index() == b.index();
  }
};
inline void append(std::string& out, Device d) { out.append(d.text()); }

// The device factories use when none is given.
TAEDA_API Device default_device();
TAEDA_API void set_default_device(Device d);

enum class Layout : int8_t { Strided, Sparse, SparseCsr, SparseCsc, SparseBsr, SparseBsc, Jagged };
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
TAEDA_API std::string_view layout_name(Layout l);
TAEDA_API std::string_view memory_format_name(MemoryFormat m);

}  // namespace taeda

template <>
struct std::hash<taeda::Device> {
  size_t operator()(taeda::Device d) const noexcept {
    return static_cast<size_t>(d.type()) << 8 | static_cast<uint8_t>(d.index());
  }
};
