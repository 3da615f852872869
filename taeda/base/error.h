// The exception type of the library and the checks that throw it.
//
// A check prints PyTorch's phrase first where PyTorch has one, then values and hints. Arguments are
// formatted only on failure. Bindings map ErrorKind to Python's exception types.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "taeda/base/export.h"
#include "taeda/base/str.h"

namespace taeda {

enum class ErrorKind : uint8_t {
  Runtime,
  Value,
  Type,
  Index,
  NotImplemented,
  OutOfMemory,
  Overflow,
  ZeroDivision,
  Attribute,
  Key,
  Import,
  Buffer,
  Internal,
  External,  // an exception of the host language is pending; the message is a copy of it
  Assertion,
};

class TAEDA_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ~Error() override;
  ErrorKind kind() const noexcept { return kind_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // ---- names of PyTorch's C++ interface; a message has no backtrace ----
  const char* what_without_backtrace() const noexcept { return what(); }
  const std::string& msg() const noexcept { return message_; }

 private:
  ErrorKind kind_;
  std::string message_;
};

// What is thrown of a kind that a C++ program may want to catch alone.
template <ErrorKind k>
class TAEDA_API ErrorOf : public Error {
 public:
  explicit ErrorOf(std::string message) : Error(k, std::move(message)) {}
};
using ValueError = ErrorOf<ErrorKind::Value>;
using TypeError = ErrorOf<ErrorKind::Type>;
using IndexError = ErrorOf<ErrorKind::Index>;
using NotImplementedError = ErrorOf<ErrorKind::NotImplemented>;
using OutOfMemoryError = ErrorOf<ErrorKind::OutOfMemory>;
using BufferError = ErrorOf<ErrorKind::Buffer>;

[[noreturn]] TAEDA_API void throw_error(ErrorKind kind, std::string message);
[[noreturn]] TAEDA_API __attribute__((cold)) void throw_joined(ErrorKind kind,
                                                               std::initializer_list<Piece> pieces);
[[noreturn]] TAEDA_API __attribute__((cold)) void throw_internal(
    const char* condition, const char* file, int line, std::initializer_list<Piece> pieces);

// Always inline, so that only a list of pieces, in cold code, remains at the place of the check.
template <class... Args>
[[noreturn]] __attribute__((always_inline)) inline void fail(ErrorKind kind, const Args&... args) {
  throw_joined(kind, {Piece(args)...});
}

#define TAEDA_CHECK_KIND(kind, cond, ...)                               \
  do {                                                                  \
    if (__builtin_expect(!(cond), 0)) ::taeda::fail(kind, __VA_ARGS__); \
  } while (0)
#define TAEDA_CHECK(cond, ...) TAEDA_CHECK_KIND(::taeda::ErrorKind::Runtime, cond, __VA_ARGS__)
#define TAEDA_CHECK_VALUE(cond, ...) TAEDA_CHECK_KIND(::taeda::ErrorKind::Value, cond, __VA_ARGS__)
#define TAEDA_CHECK_TYPE(cond, ...) TAEDA_CHECK_KIND(::taeda::ErrorKind::Type, cond, __VA_ARGS__)
#define TAEDA_CHECK_INDEX(cond, ...) TAEDA_CHECK_KIND(::taeda::ErrorKind::Index, cond, __VA_ARGS__)
#define TAEDA_CHECK_NOT_IMPLEMENTED(cond, ...) \
  TAEDA_CHECK_KIND(::taeda::ErrorKind::NotImplemented, cond, __VA_ARGS__)
#define TAEDA_INTERNAL_CHECK(cond, ...)                                  \
  do {                                                                   \
    if (__builtin_expect(!(cond), 0))                                    \
      ::taeda::throw_internal(#cond, __FILE__, __LINE__, {__VA_ARGS__}); \
  } while (0)

}  // namespace taeda
