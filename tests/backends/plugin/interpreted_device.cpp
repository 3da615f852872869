// A device of the tests that needs no compiler: it runs the text of the kernel IR by tiles.
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/ir/text.h"
#include "tests/backends/plugin/walled_device.h"

namespace {

using taeda::kernel::LaunchArguments;
using taeda::kernel::TileInterpreter;

struct Function {
  TileInterpreter program;
  int loop;
};

thread_local std::string message;

TaedaStatus compile(void*, int32_t, const char*, const char* source, const char* entry,
                    void** kernel) {
  try {
    const std::string name = entry;
    *kernel = new Function{TileInterpreter(taeda::kernel::parse_kernel(source)),
                           std::atoi(name.substr(name.rfind('_') + 1).c_str())};
    return nullptr;
  } catch (const std::exception& e) {
    message = e.what();
    return message.c_str();
  }
}

TaedaStatus launch(void*, int32_t, void* kernel, const TaedaLaunch*, void** arguments, uint32_t,
                   void*) {
  const auto& function = *static_cast<const Function*>(kernel);
  const LaunchArguments given{static_cast<char* const*>(arguments[0]),
                              static_cast<const int64_t*>(arguments[1]), arguments[2],
                              *static_cast<int64_t**>(arguments[3])};
  walled::memory().open([&] {
    function.program.run(function.loop, given, *static_cast<const int64_t*>(arguments[4]),
                         *static_cast<const int64_t*>(arguments[5]));
  });
  return nullptr;
}

}  // namespace

EXPORT const TaedaDeviceApi* taeda_device_init(const TaedaHost* host) {
  static const TaedaDeviceApi api = [] {
    TaedaDeviceApi a = walled::memory_api("interpreted", 3);
    a.compile = &compile;
    a.launch = &launch;
    a.dialect = "ir";
    return a;
  }();
  return host->version == TAEDA_DEVICE_API_VERSION ? &api : nullptr;
}
