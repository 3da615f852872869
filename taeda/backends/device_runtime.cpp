// Calls through the device seam, with the documented default of each optional function.
#include <chrono>
#include <cstring>

#include "taeda/backends/device_registry.h"

namespace taeda::devices {
namespace {

thread_local int current_devices[kNumDeviceTypes] = {};

using Clock = std::chrono::steady_clock;
struct HostEvent {
  Clock::time_point time;
};

}  // namespace

void Runtime::check(TaedaStatus status, const char* function) const {
  if (__builtin_expect(status != nullptr, 0))
    fail(ErrorKind::Runtime, "device ", api_.name, ": ", function, " failed: ", status);
}

void* Runtime::alloc(int device, size_t bytes) const {
  void* pointer = nullptr;
  if (TaedaStatus status = api_.alloc(api_.context, device, bytes, &pointer))
    fail(ErrorKind::OutOfMemory, "device ", api_.name, ": cannot allocate ", bytes,
         " bytes: ", status);
  return pointer;
}
void Runtime::free(int device, void* pointer, size_t bytes) const {
  check(api_.free(api_.context, device, pointer, bytes), "free");
}
void Runtime::copy_to_device(int device, void* dst, const void* src, size_t bytes,
                             void* stream) const {
  if (bytes)
    check(api_.copy_to_device(api_.context, device, dst, src, bytes, stream), "copy_to_device");
}
void Runtime::copy_to_host(int device, void* dst, const void* src, size_t bytes,
                           void* stream) const {
  if (!bytes) return;
  check(api_.copy_to_host(api_.context, device, dst, src, bytes, stream), "copy_to_host");
  if (!stream) settle(device);
}

void Runtime::copy_on_device(int dst_device, void* dst, int src_device, const void* src,
                             size_t bytes, void* stream) const {
  if (!bytes) return;
  if (api_.copy_on_device)
    return check(api_.copy_on_device(api_.context, dst_device, dst, src_device, src, bytes, stream),
                 "copy_on_device");
  std::vector<char> host(bytes);
  copy_to_host(src_device, host.data(), src, bytes, stream);
  if (stream) stream_synchronize(src_device, stream);
  copy_to_device(dst_device, dst, host.data(), bytes, nullptr);
}

void Runtime::set_memory(int device, void* dst, int value, size_t bytes, void* stream) const {
  if (!bytes) return;
  if (api_.set_memory)
    return check(api_.set_memory(api_.context, device, dst, value, bytes, stream), "set_memory");
  const std::vector<char> host(bytes, static_cast<char>(value));
  if (stream) stream_synchronize(device, stream);
  copy_to_device(device, dst, host.data(), bytes, nullptr);
}

int Runtime::device_count() const {
  int32_t count = 1;
  if (api_.device_count) check(api_.device_count(api_.context, &count), "device_count");
  return count;
}
int Runtime::current_device() const {
  int32_t device = current_devices[static_cast<int>(type_)];
  if (api_.current_device) check(api_.current_device(api_.context, &device), "current_device");
  return device;
}
void Runtime::set_device(int device) const {
  TAEDA_CHECK(device >= 0 && device < device_count(), "device ", api_.name,
              ": invalid device ordinal ", device, "; it has ", device_count());
  if (api_.set_device) check(api_.set_device(api_.context, device), "set_device");
  current_devices[static_cast<int>(type_)] = device;
}

TaedaDeviceProperties Runtime::properties(int device) const {
  TaedaDeviceProperties p{};
  std::strncpy(p.name, api_.name, sizeof p.name - 1);
  if (api_.properties) check(api_.properties(api_.context, device, &p), "properties");
  return p;
}
bool Runtime::supports(int device, DType dtype) const {
  int yes = 1;
  if (api_.supports)
    check(api_.supports(api_.context, device, std::string(dtype_name(dtype)).c_str(), &yes),
          "supports");
  return yes != 0;
}
void Runtime::synchronize(int device) const {
  if (api_.synchronize) check(api_.synchronize(api_.context, device), "synchronize");
  settle(device);
}

void* Runtime::stream_create(int device, int priority) const {
  void* stream = nullptr;
  if (api_.stream_create)
    check(api_.stream_create(api_.context, device, priority, &stream), "stream_create");
  return stream;
}
void Runtime::stream_destroy(int device, void* stream) const {
  if (stream && api_.stream_destroy)
    check(api_.stream_destroy(api_.context, device, stream), "stream_destroy");
}
void Runtime::stream_synchronize(int device, void* stream) const {
  if (!stream || !api_.stream_synchronize) return synchronize(device);
  check(api_.stream_synchronize(api_.context, device, stream), "stream_synchronize");
  settle(device);
}

void* Runtime::event_create(int device) const {
  void* event = nullptr;
  if (!api_.event_create) return new HostEvent;
  check(api_.event_create(api_.context, device, &event), "event_create");
  return event;
}
void Runtime::event_destroy(int device, void* event) const {
  if (!api_.event_create)
    delete static_cast<HostEvent*>(event);
  else
    check(api_.event_destroy(api_.context, device, event), "event_destroy");
}
void Runtime::event_record(int device, void* event, void* stream) const {
  if (api_.event_create)
    return check(api_.event_record(api_.context, device, event, stream), "event_record");
  stream_synchronize(device, stream);
  static_cast<HostEvent*>(event)->time = Clock::now();
}
void Runtime::event_wait(int device, void* event, void* stream) const {
  // Without events of its own the device was idle when the event was recorded.
  if (api_.event_create) check(api_.event_wait(api_.context, device, event, stream), "event_wait");
  if (!stream) settle(device);
}
double Runtime::event_elapsed(int device, void* start, void* end) const {
  double ms = 0;
  if (api_.event_create) {
    check(api_.event_elapsed(api_.context, device, start, end, &ms), "event_elapsed");
    return ms;
  }
  return std::chrono::duration<double, std::milli>(static_cast<HostEvent*>(end)->time -
                                                   static_cast<HostEvent*>(start)->time)
      .count();
}

void* Runtime::compile(int device, const char* source, const char* entry) const {
  TAEDA_CHECK_NOT_IMPLEMENTED(api_.compile, "device ", api_.name, " compiles no kernels");
  void* kernel = nullptr;
  check(api_.compile(api_.context, device, dialect(), source, entry, &kernel), "compile");
  return kernel;
}
std::string Runtime::build(int device, const char* source) const {
  std::string binary;
  const auto give = [](void* to, const void* bytes, size_t size) {
    static_cast<std::string*>(to)->assign(static_cast<const char*>(bytes), size);
  };
  check(api_.build(api_.context, device, dialect(), source, give, &binary), "build");
  return binary;
}
void* Runtime::load(int device, std::string_view binary, const char* entry) const {
  void* kernel = nullptr;
  check(api_.load(api_.context, device, binary.data(), binary.size(), entry, &kernel), "load");
  return kernel;
}
void Runtime::launch(int device, void* kernel, const TaedaLaunch& shape, Span<void*> arguments,
                     void* stream) const {
  TAEDA_CHECK_NOT_IMPLEMENTED(api_.launch, "device ", api_.name, " compiles no kernels");
  check(api_.launch(api_.context, device, kernel, &shape, const_cast<void**>(arguments.data()),
                    static_cast<uint32_t>(arguments.size()), stream),
        "launch");
}
DeferredChecks& Runtime::deferred_checks(int device) const {
  std::lock_guard lock(checks_mutex_);
  return checks_.try_emplace(device, api_, device).first->second;
}
void Runtime::seed(int device, uint64_t seed) const {
  if (api_.seed) check(api_.seed(api_.context, device, seed), "seed");
}

}  // namespace taeda::devices
