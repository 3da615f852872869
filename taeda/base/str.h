// Builds strings from values without iostream: str("got ", 3, " of ", shape).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "taeda/base/export.h"

namespace taeda {

// Extension point: a type prints itself by an overload `void append(std::string&, const T&)` in its
// namespace.
inline void append(std::string& out, std::string_view text) { out.append(text); }
inline void append(std::string& out, const char* text) { out.append(text); }
inline void append(std::string& out, const std::string& text) { out.append(text); }
inline void append(std::string& out, char c) { out.push_back(c); }
inline void append(std::string& out, bool b) { out.append(b ? "True" : "False"); }
TAEDA_API void append(std::string& out, double value);
TAEDA_API void append(std::string& out, const void* p);
TAEDA_API void append_int(std::string& out, int64_t value);
TAEDA_API void append_uint(std::string& out, uint64_t value);
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>)
void append(std::string& out, T value) {
  if constexpr (std::is_signed_v<T>)
    append_int(out, value);
  else
    append_uint(out, value);
}

// One argument of str(): text and numbers by value, anything else by pointer with the function that
// prints it. Functions that take pieces compile once, not once for each list of argument types.
class Piece {
 public:
  Piece(std::string_view text) : print_(print_text), text_(text) {}
  Piece(const char* text) : Piece(std::string_view(text)) {}
  Piece(const std::string& text) : Piece(std::string_view(text)) {}
  Piece(bool b) : Piece(b ? "True" : "False") {}
  Piece(char c) : print_(print_char), int_(c) {}
  template <class T>
    requires std::is_integral_v<T>
  Piece(T value)
      : print_(std::is_signed_v<T> ? print_int : print_uint), int_(static_cast<int64_t>(value)) {}
  template <class T>
    requires std::is_floating_point_v<T>
  Piece(T value) : print_(print_double), double_(value) {}
  template <class T>
    requires(std::is_class_v<T> || std::is_enum_v<T> || std::is_union_v<T>)
  Piece(const T& value) : print_(print_object<T>), object_(&value) {}
  Piece(const void* p) : print_(print_pointer), object_(p) {}

  void append_to(std::string& out) const { print_(out, *this); }

 private:
  using Print = void(std::string& out, const Piece& piece);
  TAEDA_API static Print print_text, print_char, print_int, print_uint, print_double, print_pointer;
  template <class T>
  static void print_object(std::string& out, const Piece& piece) {
    append(out, *static_cast<const T*>(piece.object_));
  }

  Print* print_;
  union {
    std::string_view text_;
    int64_t int_;
    double double_;
    const void* object_;
  };
};

TAEDA_API std::string join(std::initializer_list<Piece> pieces);

template <class... Args>
std::string str(const Args&... args) {
  return join({Piece(args)...});
}

}  // namespace taeda
