// Which compiler the system has.
#pragma once

#include <string>
#include <vector>

namespace taeda::kernel {

struct Compiler {
  std::vector<std::string> words;  // its absolute path, then arguments that come with its name
  const std::string& path() const { return words[0]; }
};

// Throws where there is none.
Compiler find_compiler();

// A text that differs where another compiler may make another object: path, size and time of the
// file and what it says of its version, for which it runs once per process.
std::string compiler_identity(const Compiler& compiler);

// TAEDA_COMPILE_TIMEOUT; 120 where it is no number above zero, with a warning.
double compile_seconds();

}  // namespace taeda::kernel
