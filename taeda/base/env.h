// Environment variables that hold numbers.
#pragma once

#include <cstdlib>

namespace taeda {

inline long env_int(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtol(text, nullptr, 10) : otherwise;
}

}  // namespace taeda
