// Compiling and launching for the tests' devices that run the text of the kernel IR by tiles.
#pragma once

#include <cstdlib>
#include <exception>
#include <string>

#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/ir/text.h"
#include "tests/backends/plugin/walled_device.h"

namespace interpreter {

using taeda::kernel::LaunchArguments;
using taeda::kernel::TileInterpreter;

struct Function {
  TileInterpreter program;
  int loop;
};

inline TaedaStatus compile(void*, int32_t, const char*, const char* source, const char* entry,
                           void** kernel) {
  static thread_local std::string message;
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

inline TaedaStatus launch(void*, int32_t, void* kernel, const TaedaLaunch*, void** arguments,
                          uint32_t, void*) {
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

inline TaedaDeviceApi device_api(const char* name, uint32_t slot) {
  TaedaDeviceApi a = walled::memory_api(name, slot);
  a.compile = &compile;
  a.launch = &launch;
  a.dialect = "ir";
  return a;
}

}  // namespace interpreter
