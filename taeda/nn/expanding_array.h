// D numbers, written as a list or as one number for all: MaxPool2dOptions(3), Conv2dOptions(1, 2,
// {3, 5}).
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <vector>

#include "taeda/base/error.h"
#include "taeda/core/symint.h"

namespace taeda {

template <size_t D, class T = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(std::initializer_list<T> list) : ExpandingArray(Span<T>(list)) {}  // NOLINT
  ExpandingArray(const std::vector<T>& list) : ExpandingArray(Span<T>(list)) {}     // NOLINT
  ExpandingArray(Span<T> list) {                                                    // NOLINT
    TAEDA_CHECK(list.size() == D, "Expected ", D, " values, but instead got ", list.size());
    std::copy(list.begin(), list.end(), values_.begin());
  }
  ExpandingArray(T value) { values_.fill(value); }                     // NOLINT
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}  // NOLINT

  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  const T* data() const { return values_.data(); }
  static constexpr size_t size() noexcept { return D; }

 protected:
  std::array<T, D> values_;
};

// The same where an element may be missing, which keeps a size as it is.
template <size_t D, class T = int64_t>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<T>> {
 public:
  using Base = ExpandingArray<D, std::optional<T>>;
  using Base::Base;
  ExpandingArrayWithOptionalElem(std::initializer_list<T> list)  // NOLINT: converts
      : ExpandingArrayWithOptionalElem(std::vector<T>(list)) {}
  ExpandingArrayWithOptionalElem(const std::vector<T>& list)  // NOLINT: converts
      : Base(std::vector<std::optional<T>>(list.begin(), list.end())) {}
  ExpandingArrayWithOptionalElem(T value) : Base(std::optional<T>(value)) {}  // NOLINT: converts
};

template <class T>
std::ostream& print_element(std::ostream& stream, const T& value) {
  return stream << value;
}
template <class T>
std::ostream& print_element(std::ostream& stream, const std::optional<T>& value) {
  return value ? stream << *value : stream << "None";
}

// One number stands alone, several in brackets.
template <size_t D, class T>
std::ostream& operator<<(std::ostream& stream, const ExpandingArray<D, T>& values) {
  if (D == 1) return print_element(stream, values->front());
  for (size_t i = 0; i < D; ++i) print_element(stream << (i ? ", " : "["), (*values)[i]);
  return stream << "]";
}

}  // namespace taeda
