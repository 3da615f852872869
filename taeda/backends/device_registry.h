// Devices by type: registration, plug-ins, and calls through the seam with its defaults filled in.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "taeda/backends/deferred_checks.h"
#include "taeda/backends/device_api.h"
#include "taeda/core/tensor.h"

namespace taeda::devices {

// One device type's functions; those that a device leaves out have their defaults here. Throws
// RuntimeError with the device's own message when a call fails. Lives for ever; safe from any
// thread.
class TAEDA_API Runtime {
 public:
  Runtime(DeviceType type, const TaedaDeviceApi& api) : type_(type), api_(api) {}

  DeviceType type() const { return type_; }
  const TaedaDeviceApi& api() const { return api_; }

  void* alloc(int device, size_t bytes) const;
  void free(int device, void* pointer, size_t bytes) const;
  void copy_to_device(int device, void* dst, const void* src, size_t bytes,
                      void* stream = nullptr) const;
  void copy_to_host(int device, void* dst, const void* src, size_t bytes,
                    void* stream = nullptr) const;
  void copy_on_device(int dst_device, void* dst, int src_device, const void* src, size_t bytes,
                      void* stream = nullptr) const;
  void set_memory(int device, void* dst, int value, size_t bytes, void* stream = nullptr) const;

  int device_count() const;
  int current_device() const;
  void set_device(int device) const;
  TaedaDeviceProperties properties(int device) const;
  bool supports(int device, DType dtype) const;
  void synchronize(int device) const;

  bool has_streams() const { return api_.stream_create != nullptr; }
  void* stream_create(int device, int priority = 0) const;
  void stream_destroy(int device, void* stream) const;
  void stream_synchronize(int device, void* stream) const;
  void* event_create(int device) const;
  void event_destroy(int device, void* event) const;
  void event_record(int device, void* event, void* stream = nullptr) const;
  void event_wait(int device, void* event, void* stream = nullptr) const;
  double event_elapsed(int device, void* start, void* end) const;

  bool can_compile() const { return api_.compile != nullptr; }
  const char* dialect() const { return api_.dialect ? api_.dialect : "c++"; }
  void* compile(int device, const char* source, const char* entry) const;
  // Where a device gives its binaries away: their making, and a kernel of one.
  bool has_binaries() const { return api_.build != nullptr; }
  std::string build(int device, const char* source) const;
  void* load(int device, std::string_view binary, const char* entry) const;
  void launch(int device, void* kernel, const TaedaLaunch& shape, Span<void*> arguments,
              void* stream = nullptr) const;
  void seed(int device, uint64_t seed) const;

  // Whether errors of indices are raised when the host waits for the device, as all calls here do
  // that wait.
  bool defers_checks() const { return api_.defers_checks != 0; }
  DeferredChecks& deferred_checks(int device) const;

 private:
  void check(TaedaStatus status, const char* function) const;
  // After a call that has waited for the device.
  void settle(int device) const {
    if (defers_checks()) deferred_checks(device).settle();
  }

  DeviceType type_;
  const TaedaDeviceApi& api_;
  mutable std::mutex checks_mutex_;
  mutable std::map<int, DeferredChecks> checks_;
};

// Makes a device type usable: memory comes from `api`, copy_ and fill_ go through it, operators
// without a kernel fall back to the CPU. Throws ValueError when version, size or required functions
// are missing, RuntimeError when another device has the type. `api` must live for ever.
TAEDA_API void register_device(DeviceType type, const TaedaDeviceApi* api);
// Null for device types that nobody registered.
TAEDA_API const Runtime* find_runtime(DeviceType type);
TAEDA_API const Runtime& runtime_of(DeviceType type);
TAEDA_API std::vector<DeviceType> registered_devices();

// Opens a shared object and registers the device it holds. Loading the same device twice is
// harmless.
TAEDA_API DeviceType load_device_plugin(const std::string& path);
// Loads the plug-ins that TAEDA_DEVICES names, paths with ':' between them; once. Happens by itself
// when the first tensor on a device nobody registered is made.
TAEDA_API void load_devices_from_environment();

}  // namespace taeda::devices
