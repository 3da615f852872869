// Compiles printed C++ in a test and loads it.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "taeda/base/isa.h"

namespace taeda::kernel::test {

// Compiles a translation unit with the best instruction set of this machine and returns its handle.
inline void* compile(const std::string& source, const std::string& optimization = "-O2") {
  char folder[] = "/tmp/taeda_print_XXXXXX";
  if (!mkdtemp(folder)) throw std::runtime_error("no temporary folder");
  std::string path = std::string(folder) + "/unit";
  std::ofstream(path + ".cpp") << source;
  std::string flags =
      "-std=c++20 -fPIC -shared -ffp-contract=off -fwrapv -fno-math-errno " + optimization;
#if defined(__x86_64__)
  constexpr const char* kLevels[] = {"", " -march=x86-64-v3", " -march=x86-64-v4"};
  flags += kLevels[isa_level()];
#endif
  const char* compiler = std::getenv("CXX");  // a cross compiler under emulation
  std::string command = std::string(compiler ? compiler : "g++") + " " + flags + " -o " + path +
                        ".so " + path + ".cpp 2>&1";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot compile " + path);
  void* handle = dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(dlerror());
  std::filesystem::remove_all(folder);
  return handle;
}

}  // namespace taeda::kernel::test
