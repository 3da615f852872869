// A device of the tests that compiles generated kernels with the system compiler.
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "taeda/kernel/native/compiler.h"
#include "taeda/kernel/native/module.h"
#include "tests/backends/plugin/walled_device.h"

namespace {

using taeda::kernel::compile_native;
using taeda::kernel::NativeModule;
using Function = void (*)(char* const* buffers, const int64_t* params, const void* numbers,
                          int64_t* error, int64_t begin, int64_t end);

thread_local std::string message;

// Runs f and gives back the message of what it throws.
template <class F>
TaedaStatus guarded(F&& f) {
  try {
    f();
    return nullptr;
  } catch (const std::exception& e) {
    message = e.what();
    return message.c_str();
  }
}

TaedaStatus build(void*, int32_t, const char*, const char* source,
                  void (*give)(void* to, const void* bytes, size_t size), void* to) {
  return guarded([&] {
    const std::string binary = compile_native(source, {.cache = nullptr});
    give(to, binary.data(), binary.size());
  });
}

TaedaStatus load(void*, int32_t, const void* bytes, size_t size, const char* entry, void** kernel) {
  // Loaded code stays: its functions may be launched at any time.
  static auto* modules = new std::vector<std::shared_ptr<NativeModule>>;
  static std::mutex mutex;
  return guarded([&] {
    std::lock_guard lock(mutex);
    modules->push_back(NativeModule::load({static_cast<const char*>(bytes), size}));
    *kernel = modules->back()->symbol(entry);
  });
}

TaedaStatus compile(void* context, int32_t device, const char* dialect, const char* source,
                    const char* entry, void** kernel) {
  std::string binary;
  const auto keep = [](void* to, const void* bytes, size_t size) {
    static_cast<std::string*>(to)->assign(static_cast<const char*>(bytes), size);
  };
  if (TaedaStatus status = build(context, device, dialect, source, keep, &binary)) return status;
  return load(context, device, binary.data(), binary.size(), entry, kernel);
}

TaedaStatus launch(void*, int32_t, void* kernel, const TaedaLaunch*, void** arguments, uint32_t,
                   void*) {
  walled::memory().open([&] {
    reinterpret_cast<Function>(kernel)(
        static_cast<char* const*>(arguments[0]), static_cast<const int64_t*>(arguments[1]),
        arguments[2], *static_cast<int64_t**>(arguments[3]),
        *static_cast<const int64_t*>(arguments[4]), *static_cast<const int64_t*>(arguments[5]));
  });
  return nullptr;
}

}  // namespace

EXPORT const TaedaDeviceApi* taeda_device_init(const TaedaHost* host) {
  static const TaedaDeviceApi api = [] {
    TaedaDeviceApi a = walled::memory_api("printed", 2);
    a.compile = &compile;
    a.launch = &launch;
    a.build = &build;
    a.load = &load;
    a.dialect = "c++";
    return a;
  }();
  return host->version == TAEDA_DEVICE_API_VERSION ? &api : nullptr;
}
