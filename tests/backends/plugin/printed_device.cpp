// A device of the tests that compiles generated kernels with the system compiler.
#include <dlfcn.h>

#include <exception>
#include <map>
#include <string>

#include "tests/backends/plugin/walled_device.h"
#include "tests/kernel/compile.h"

namespace {

using Function = void (*)(char* const* buffers, const int64_t* params, const void* numbers,
                          int64_t* error, int64_t begin, int64_t end);

thread_local std::string message;

TaedaStatus compile(void*, int32_t, const char*, const char* source, const char* entry,
                    void** kernel) {
  static std::map<std::string, void*> units;
  try {
    void*& unit = units[source];
    if (!unit) unit = taeda::kernel::test::compile(source);
    *kernel = ::dlsym(unit, entry);
    return *kernel ? nullptr : "the unit has no such function";
  } catch (const std::exception& e) {
    message = e.what();
    return message.c_str();
  }
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
    a.dialect = "c++";
    return a;
  }();
  return host->version == TAEDA_DEVICE_API_VERSION ? &api : nullptr;
}
