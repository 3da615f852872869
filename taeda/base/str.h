// Builds strings from values without iostream: str("got ", 3, " of ", shape).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace taeda {

// Extension point: a type prints itself by an overload `void append(std::string&, const T&)` in its
// namespace.
inline void append(std::string& out, std::string_view text) { out.append(text); }
inline void append(std::string& out, const char* text) { out.append(text); }
inline void append(std::string& out, const std::string& text) { out.append(text); }
inline void append(std::string& out, char c) { out.push_back(c); }
inline void append(std::string& out, bool b) { out.append(b ? "True" : "False"); }
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>)
void append(std::string& out, T value) {
  out.append(std::to_string(value));
}
inline void append(std::string& out, double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  out.append(buffer);
}
inline void append(std::string& out, const void* p) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%p", p);
  out.append(buffer);
}

template <class... Args>
std::string str(const Args&... args) {
  std::string out;
  (append(out, args), ...);
  return out;
}

}  // namespace taeda
