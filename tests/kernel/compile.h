// Compiles printed C++ in a test and loads it.
#pragma once

#include <memory>
#include <string>

#include "taeda/kernel/native/compiler.h"
#include "taeda/kernel/native/module.h"

namespace taeda::kernel::test {

// Compiles a translation unit with the best instruction set of this machine, without a cache.
inline std::shared_ptr<NativeModule> compile(const std::string& source,
                                             const std::string& optimization = "-O2") {
  return NativeModule::load(compile_native(source, {.flags = {optimization}, .cache = nullptr}));
}

}  // namespace taeda::kernel::test
