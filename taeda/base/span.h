// Read-only view of a run of values; the argument type of every list in an operator signature.
#pragma once

// A braced list lives until the end of the call it is an argument of; that is the contract below.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "taeda/base/str.h"

namespace taeda {

// A type whose arrays may be read as arrays of T (SymInt reads plain integers); void: none.
template <class T>
struct SpanAlias {
  using type = void;
};

// Valid while the viewed memory lives: pass it down, never store it.
template <class T>
class Span {
 public:
  using value_type = T;
  constexpr Span() = default;
  constexpr Span(const T* data, size_t size) : data_(data), size_(size) {}
  Span(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  constexpr Span(std::initializer_list<T> v) : data_(v.begin()), size_(v.size()) {}
  template <size_t N>
  constexpr Span(const T (&v)[N]) : data_(v), size_(N) {}
  template <class C>
    requires(!std::is_same_v<C, Span> && !std::is_same_v<C, std::vector<T>> &&
             std::is_same_v<
                 std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<const C&>().data())>>,
                 T>)
  Span(const C& c) : data_(c.data()), size_(c.size()) {}

  // From a run of the alias type, see SpanAlias.
  template <class C, class Item = std::remove_cv_t<
                         std::remove_pointer_t<decltype(std::declval<const C&>().data())>>>
    requires(!std::is_same_v<Item, T> && std::is_same_v<Item, typename SpanAlias<T>::type>)
  Span(const C& c) : data_(reinterpret_cast<const T*>(c.data())), size_(c.size()) {}

  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr const T& front() const { return data_[0]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr Span slice(size_t from, size_t count) const { return {data_ + from, count}; }
  constexpr Span slice(size_t from) const { return drop_front(from); }
  constexpr Span drop_front(size_t n = 1) const { return {data_ + n, size_ - n}; }
  bool equals(Span o) const { return *this == o; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  friend bool operator==(Span a, Span b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

// Lists print as PyTorch prints them: [2, 3].
template <class T>
void append(std::string& out, Span<T> values) {
  out.push_back('[');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) out.append(", ");
    append(out, values[i]);
  }
  out.push_back(']');
}
template <class T>
void append(std::string& out, const std::vector<T>& values) {
  append(out, Span<T>(values));
}

}  // namespace taeda

#pragma GCC diagnostic pop
