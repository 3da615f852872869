// Keeps the devices by type, loads plug-ins, and gives each device its allocator.
#include "taeda/backends/device_registry.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "taeda/backends/device_kernels.h"
#include "taeda/base/log.h"

namespace taeda::devices {
namespace {

// Memory of a device type as the library's allocator; remembers on which device of the type a block
// lies.
class DeviceAllocator final : public Allocator {
 public:
  explicit DeviceAllocator(const Runtime& runtime) : runtime_(runtime) {}

  void* allocate(size_t nbytes) override {
    if (nbytes == 0) return nullptr;
    const int asked = allocating_device_index();
    const int device = asked >= 0 ? asked : runtime_.current_device();
    TAEDA_CHECK(device < runtime_.device_count(), "device ", runtime_.api().name,
                ": invalid device ordinal ", device, "; it has ", runtime_.device_count());
    void* data = runtime_.alloc(device, nbytes);
    std::lock_guard lock(mutex_);
    device_of_[data] = device;
    stats_.allocated_bytes += static_cast<int64_t>(nbytes);
    stats_.allocated_peak = std::max(stats_.allocated_peak, stats_.allocated_bytes);
    stats_.reserved_bytes = stats_.allocated_bytes;
    stats_.reserved_peak = stats_.allocated_peak;
    ++stats_.num_allocs;
    return data;
  }

  void deallocate(void* data, size_t nbytes) noexcept override {
    if (!data) return;
    int device;
    {
      std::lock_guard lock(mutex_);
      device = device_of_[data];
      device_of_.erase(data);
      stats_.allocated_bytes -= static_cast<int64_t>(nbytes);
      stats_.reserved_bytes = stats_.allocated_bytes;
      ++stats_.num_frees;
    }
    TaedaStatus status = runtime_.api().free(runtime_.api().context, device, data, nbytes);
    if (!status) return;
    try {
      warn(str("device ", runtime_.api().name, ": free failed: ", status));
    } catch (const Error&) {
      // A filter made the warning an error, which cannot leave a destructor.
    }
  }

  void copy(void* dst, const void* src, size_t nbytes) override {
    int to, from;
    {
      std::lock_guard lock(mutex_);
      to = device_of_[dst];
      from = device_of_[const_cast<void*>(src)];
    }
    runtime_.copy_on_device(to, dst, from, src, nbytes);
  }

  AllocatorStats stats() const override {
    std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_peak_stats() override {
    std::lock_guard lock(mutex_);
    stats_.allocated_peak = stats_.allocated_bytes;
    stats_.reserved_peak = stats_.reserved_bytes;
  }

 private:
  const Runtime& runtime_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, int> device_of_;
  AllocatorStats stats_;
};

struct Registry {
  std::recursive_mutex mutex;
  std::atomic<const Runtime*> runtimes[kNumDeviceTypes] = {};
};

Registry& registry() {
  static Registry* r = new Registry;  // devices may free memory until the very end
  return *r;
}

void check_api(const TaedaDeviceApi* api) {
  TAEDA_CHECK_VALUE(api, "register_device: no TaedaDeviceApi given");
  TAEDA_CHECK_VALUE(api->version == TAEDA_DEVICE_API_VERSION,
                    "device API version differs: the device was built for ", api->version,
                    ", this library has ", TAEDA_DEVICE_API_VERSION,
                    "; build the device against this library's device_api.h");
  TAEDA_CHECK_VALUE(api->size == sizeof(TaedaDeviceApi),
                    "device API struct size differs: the device has ", api->size,
                    " bytes, this library ", sizeof(TaedaDeviceApi),
                    "; build the device against this library's device_api.h");
  TAEDA_CHECK_VALUE(api->name && *api->name, "a device must have a name");
  const auto require = [&](bool given, const char* function) {
    TAEDA_CHECK_VALUE(given, "device ", api->name, ": the required function ", function,
                      " is missing");
  };
  require(api->alloc, "alloc");
  require(api->free, "free");
  require(api->copy_to_device, "copy_to_device");
  require(api->copy_to_host, "copy_to_host");
  const bool has_streams = api->stream_create && api->stream_destroy && api->stream_synchronize;
  TAEDA_CHECK_VALUE(
      has_streams || !(api->stream_create || api->stream_destroy || api->stream_synchronize),
      "device ", api->name, ": give all stream functions or none");
  const bool has_events = api->event_create && api->event_destroy && api->event_record &&
                          api->event_wait && api->event_elapsed;
  TAEDA_CHECK_VALUE(has_events || !(api->event_create || api->event_destroy || api->event_record ||
                                    api->event_wait || api->event_elapsed),
                    "device ", api->name, ": give all event functions or none");
  TAEDA_CHECK_VALUE(!api->compile == !api->launch, "device ", api->name,
                    ": give both compile and launch or neither");
  TAEDA_CHECK_VALUE(!api->build == !api->load, "device ", api->name,
                    ": give both build and load or neither");
}

void warn_from_plugin(const char* message) { warn(message); }

const bool is_loader_set = (set_device_loader(&load_devices_from_environment), true);

}  // namespace

void register_device(DeviceType type, const TaedaDeviceApi* api) {
  check_api(api);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto& slot = r.runtimes[static_cast<int>(type)];
  if (const Runtime* known = slot.load()) {
    TAEDA_CHECK(&known->api() == api, "device type ", device_type_name(type),
                " already belongs to device ", known->api().name, "; cannot register ", api->name);
    return;
  }
  const auto* runtime = new Runtime(type, *api);
  slot.store(runtime);
  if (type == DeviceType::CPU || type == DeviceType::Meta)
    return;  // they have allocators and kernels of their own
  set_device_allocator(type, new DeviceAllocator(*runtime));
  register_device_kernels(type);
}

const Runtime* find_runtime(DeviceType type) {
  if (!has_backend(type)) return nullptr;
  return registry().runtimes[static_cast<int>(type)].load(std::memory_order_acquire);
}

const Runtime& runtime_of(DeviceType type) {
  const Runtime* r = find_runtime(type);
  TAEDA_CHECK(r, "no device is registered for ", device_type_name(type),
              "; load one with TAEDA_DEVICES or taeda._C._load_device");
  return *r;
}

std::vector<DeviceType> registered_devices() {
  std::vector<DeviceType> out;
  for (int i = 0; i < kNumDeviceTypes; ++i)
    if (find_runtime(static_cast<DeviceType>(i))) out.push_back(static_cast<DeviceType>(i));
  return out;
}

DeviceType load_device_plugin(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  TAEDA_CHECK(handle, "cannot load device plug-in '", path, "': ", ::dlerror());
  const auto init = reinterpret_cast<TaedaDeviceInit>(::dlsym(handle, TAEDA_DEVICE_INIT_NAME));
  TAEDA_CHECK(init, "'", path, "' is no device plug-in: it does not export ",
              TAEDA_DEVICE_INIT_NAME);
  static const TaedaHost host{TAEDA_DEVICE_API_VERSION, sizeof(TaedaHost), "taeda",
                              &warn_from_plugin};
  const TaedaDeviceApi* api = init(&host);
  TAEDA_CHECK(api, "device plug-in '", path, "' found no device it can use");
  check_api(api);
  TAEDA_CHECK_VALUE(api->slot <= 3, "device ", api->name,
                    ": slot must be 1, 2 or 3 (PrivateUse1 to 3), or 0 for the device type of its "
                    "name, got ",
                    api->slot);
  const auto type = api->slot == 0
                        ? Device::parse(api->name).type()
                        : static_cast<DeviceType>(static_cast<int>(DeviceType::PrivateUse1) +
                                                  static_cast<int>(api->slot) - 1);
  register_device(type, api);
  return type;
}

void load_devices_from_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* list = std::getenv("TAEDA_DEVICES");
    if (!list) return;
    std::string_view rest(list);
    while (!rest.empty()) {
      const size_t colon = rest.find(':');
      const std::string_view path = rest.substr(0, colon);
      if (!path.empty()) load_device_plugin(std::string(path));
      rest = colon == rest.npos ? std::string_view() : rest.substr(colon + 1);
    }
  });
}

}  // namespace taeda::devices
