// Checks and warnings by PyTorch's names.
#pragma once

#include <sstream>
#include <stdexcept>

#include "taeda/base/error.h"
#include "taeda/base/log.h"
#include "taeda/base/span.h"
#include "taeda/base/str.h"

namespace torch_compat {

namespace appending {
using ::taeda::append;
template <class T>
concept Appendable = requires(std::string& out, const T& part) { append(out, part); };
}  // namespace appending

// Any value that can be written to a stream can be part of a message.
template <class T>
void add_part(std::string& out, const T& part) {
  using ::taeda::append;
  if constexpr (std::is_same_v<T, bool>) {
    out += part ? '1' : '0';  // as streams do
  } else if constexpr (appending::Appendable<T>) {
    append(out, part);
  } else {
    std::ostringstream text;
    text << part;
    out += text.str();
  }
}
template <class... T>
std::string text_of(const T&... parts) {
  std::string out;
  (add_part(out, parts), ...);
  return out;
}

}  // namespace torch_compat

namespace c10 {
using Error = ::taeda::Error;
using ValueError = ::taeda::ValueError;
using TypeError = ::taeda::TypeError;
using IndexError = ::taeda::IndexError;
using NotImplementedError = ::taeda::NotImplementedError;
using OutOfMemoryError = ::taeda::OutOfMemoryError;
using BufferError = ::taeda::BufferError;
template <class... T>
std::string str(const T&... parts) {
  return ::torch_compat::text_of(parts...);
}
}  // namespace c10

// As PyTorch's, these are plain ifs: sources leave out the semicolon.
#define TORCH_CHECK_KIND_(kind, cond, ...)                                                      \
  if (__builtin_expect(!(cond), 0)) {                                                           \
    ::taeda::throw_error(                                                                       \
        ::taeda::ErrorKind::kind,                                                               \
        ::torch_compat::message_or("Expected " #cond                                            \
                                   " to be true, but got false.  (Could this error message be " \
                                   "improved?)" __VA_OPT__(, ) __VA_ARGS__));                   \
  }

namespace torch_compat {
inline std::string message_or(const char* otherwise) { return otherwise; }
template <class... T>
std::string message_or(const char*, const T&... parts) {
  return text_of(parts...);
}
}  // namespace torch_compat

#define TORCH_CHECK(cond, ...) TORCH_CHECK_KIND_(Runtime, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) TORCH_CHECK_KIND_(Value, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) TORCH_CHECK_KIND_(Type, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) TORCH_CHECK_KIND_(Index, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) \
  TORCH_CHECK_KIND_(NotImplemented, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(cond, ...)                                                          \
  if (__builtin_expect(!(cond), 0)) {                                                             \
    ::taeda::throw_error(                                                                         \
        ::taeda::ErrorKind::Runtime,                                                              \
        ::torch_compat::text_of(#cond " INTERNAL ASSERT FAILED at \"", __FILE__, "\":", __LINE__, \
                                ", please report a bug." __VA_OPT__(, ) __VA_ARGS__));            \
  }
#ifdef NDEBUG
#  define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) \
    do {                                        \
    } while (false)
#else
#  define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#endif
#define TORCH_WARN(...) ::taeda::warn(::torch_compat::text_of(__VA_ARGS__))
#define TORCH_WARN_ONCE(...)                           \
  do {                                                 \
    static const bool is_told [[maybe_unused]] = [&] { \
      TORCH_WARN(__VA_ARGS__);                         \
      return true;                                     \
    }();                                               \
  } while (false)
#define AT_ERROR(...) \
  ::taeda::throw_error(::taeda::ErrorKind::Runtime, ::torch_compat::text_of(__VA_ARGS__))
#define AT_ASSERT(cond, ...) TORCH_INTERNAL_ASSERT(cond __VA_OPT__(, ) __VA_ARGS__)
#define AT_CHECK(cond, ...) TORCH_CHECK(cond __VA_OPT__(, ) __VA_ARGS__)
#define STD_TORCH_WARN(...) TORCH_WARN(__VA_ARGS__)
#define STD_TORCH_WARN_ONCE(...) TORCH_WARN_ONCE(__VA_ARGS__)
#define STD_TORCH_CHECK(cond, ...) TORCH_CHECK(cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LINALG(cond, ...) TORCH_CHECK(cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b), "Check failed: " #a " == " #b)
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b), "Check failed: " #a " != " #b)
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b), "Check failed: " #a " <= " #b)
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b), "Check failed: " #a " < " #b)
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b), "Check failed: " #a " >= " #b)
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b), "Check failed: " #a " > " #b)
#define AT_ASSERTM(cond, ...) TORCH_CHECK(cond __VA_OPT__(, ) __VA_ARGS__)
