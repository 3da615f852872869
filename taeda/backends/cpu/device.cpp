// The CPU behind the device seam: the host's memory and nothing to wait for.
#include <cstring>
#include <thread>

#include "taeda/backends/device_registry.h"

namespace taeda::cpu {
namespace {

TaedaStatus alloc(void*, int32_t, size_t bytes, void** pointer) {
  try {
    *pointer = cpu_allocator().allocate(bytes);
    return nullptr;
  } catch (const Error&) {
    return "out of memory";
  }
}
TaedaStatus release(void*, int32_t, void* pointer, size_t bytes) {
  cpu_allocator().deallocate(pointer, bytes);
  return nullptr;
}
TaedaStatus copy(void*, int32_t, void* dst, const void* src, size_t bytes, void*) {
  std::memcpy(dst, src, bytes);
  return nullptr;
}
TaedaStatus copy_on_device(void*, int32_t, void* dst, int32_t, const void* src, size_t bytes,
                           void*) {
  std::memmove(dst, src, bytes);
  return nullptr;
}
TaedaStatus set_memory(void*, int32_t, void* dst, int value, size_t bytes, void*) {
  std::memset(dst, value, bytes);
  return nullptr;
}
TaedaStatus properties(void*, int32_t, TaedaDeviceProperties* out) {
  out->compute_units = std::thread::hardware_concurrency();
  out->has_unified_memory = 1;
  return nullptr;
}

constexpr TaedaDeviceApi kApi = [] {
  TaedaDeviceApi a{};
  a.version = TAEDA_DEVICE_API_VERSION;
  a.size = sizeof(TaedaDeviceApi);
  a.name = "cpu";
  a.alloc = &alloc;
  a.free = &release;
  a.copy_to_device = &copy;
  a.copy_to_host = &copy;
  a.copy_on_device = &copy_on_device;
  a.set_memory = &set_memory;
  a.properties = &properties;
  return a;
}();

const bool is_registered = (devices::register_device(DeviceType::CPU, &kApi), true);

}  // namespace
}  // namespace taeda::cpu
