// Typed reading of environment variables.
#pragma once

#include <cstdlib>
#include <cstring>

namespace taeda {

inline bool env_flag(const char* name, bool otherwise = false) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  return std::strcmp(text, "0") != 0 && std::strcmp(text, "false") != 0 &&
         std::strcmp(text, "OFF") != 0;
}
inline long env_int(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtol(text, nullptr, 10) : otherwise;
}

}  // namespace taeda
