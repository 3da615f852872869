// Checks and warnings by PyTorch's names.
#pragma once

#include <stdexcept>

#include "taeda/base/error.h"
#include "taeda/base/log.h"
#include "taeda/base/str.h"

namespace c10 {
using taeda::str;
using Error = ::taeda::Error;
}  // namespace c10

#define TORCH_CHECK_KIND_(kind, cond, ...)                                                        \
  do {                                                                                            \
    if (__builtin_expect(!(cond), 0))                                                             \
      ::taeda::throw_error(                                                                       \
          ::taeda::ErrorKind::kind,                                                               \
          ::torch_compat::message_or("Expected " #cond                                            \
                                     " to be true, but got false.  (Could this error message be " \
                                     "improved?)" __VA_OPT__(, ) __VA_ARGS__));                   \
  } while (false)

namespace torch_compat {
inline std::string message_or(const char* otherwise) { return otherwise; }
template <class... T>
std::string message_or(const char*, const T&... parts) {
  return ::taeda::str(parts...);
}
}  // namespace torch_compat

#define TORCH_CHECK(cond, ...) TORCH_CHECK_KIND_(Runtime, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) TORCH_CHECK_KIND_(Value, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) TORCH_CHECK_KIND_(Type, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) TORCH_CHECK_KIND_(Index, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) \
  TORCH_CHECK_KIND_(NotImplemented, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(cond, ...)                                                 \
  do {                                                                                   \
    if (__builtin_expect(!(cond), 0))                                                    \
      ::taeda::throw_error(                                                              \
          ::taeda::ErrorKind::Runtime,                                                   \
          ::taeda::str(#cond " INTERNAL ASSERT FAILED at \"", __FILE__, "\":", __LINE__, \
                       ", please report a bug." __VA_OPT__(, ) __VA_ARGS__));            \
  } while (false)
#ifdef NDEBUG
#  define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) \
    do {                                        \
    } while (false)
#else
#  define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#endif
#define TORCH_WARN(...) ::taeda::warn(::taeda::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...)                           \
  do {                                                 \
    static const bool is_told [[maybe_unused]] = [&] { \
      TORCH_WARN(__VA_ARGS__);                         \
      return true;                                     \
    }();                                               \
  } while (false)
#define AT_ERROR(...) ::taeda::throw_error(::taeda::ErrorKind::Runtime, ::taeda::str(__VA_ARGS__))
#define AT_ASSERT(cond) TORCH_INTERNAL_ASSERT(cond)
#define AT_ASSERTM(cond, ...) TORCH_CHECK(cond __VA_OPT__(, ) __VA_ARGS__)
