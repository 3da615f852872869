// The meta device behind the seam: no memory, so copies move nothing.
#include "taeda/backends/device_registry.h"

namespace taeda::meta {
namespace {

TaedaStatus alloc(void*, int32_t, size_t, void** pointer) {
  *pointer = nullptr;
  return nullptr;
}
TaedaStatus release(void*, int32_t, void*, size_t) { return nullptr; }
TaedaStatus copy_to_device(void*, int32_t, void*, const void*, size_t, void*) { return nullptr; }
TaedaStatus copy_to_host(void*, int32_t, void*, const void*, size_t, void*) {
  return "Cannot copy out of meta tensor; no data!";
}
TaedaStatus copy_on_device(void*, int32_t, void*, int32_t, const void*, size_t, void*) {
  return nullptr;
}
TaedaStatus set_memory(void*, int32_t, void*, int, size_t, void*) { return nullptr; }

constexpr TaedaDeviceApi kApi = [] {
  TaedaDeviceApi a{};
  a.version = TAEDA_DEVICE_API_VERSION;
  a.size = sizeof(TaedaDeviceApi);
  a.name = "meta";
  a.alloc = &alloc;
  a.free = &release;
  a.copy_to_device = &copy_to_device;
  a.copy_to_host = &copy_to_host;
  a.copy_on_device = &copy_on_device;
  a.set_memory = &set_memory;
  return a;
}();

const bool is_registered = (devices::register_device(DeviceType::Meta, &kApi), true);

}  // namespace
}  // namespace taeda::meta
