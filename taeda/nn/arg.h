// TAEDA_ARG(type, name): a field of an options struct, set by `options.name(value)`, which returns
// the options, and read by `options.name()`.
#pragma once

#include <utility>

#define TAEDA_ARG(T, name)                           \
 public:                                             \
  auto name(T value) -> decltype(*this) {            \
    name##_ = std::move(value);                      \
    return *this;                                    \
  }                                                  \
  const T& name() const noexcept { return name##_; } \
  T& name() noexcept { return name##_; }             \
                                                     \
 private:                                            \
  T name##_ /* NOLINT: the default may follow */
