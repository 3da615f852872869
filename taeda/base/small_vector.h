// A vector whose first N elements live inside it; for shapes and argument lists.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "taeda/base/span.h"

namespace taeda {

template <class T, size_t N>
class SmallVector {
 public:
  using value_type = T;
  SmallVector() = default;
  explicit SmallVector(size_t n, const T& value = T()) { resize(n, value); }
  SmallVector(std::initializer_list<T> v) { assign(v.begin(), v.end()); }
  SmallVector(Span<T> v) { assign(v.begin(), v.end()); }
  template <class It>
  SmallVector(It first, It last) {
    assign(first, last);
  }
  SmallVector(const SmallVector& o) { assign(o.begin(), o.end()); }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) {
      clear();
      assign(o.begin(), o.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      release();
      take(o);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  template <class... A>
  T& emplace_back(A&&... args) {
    if (size_ == capacity_) grow(size_ + 1);
    return *new (data_ + size_++) T(std::forward<A>(args)...);
  }
  void push_back(const T& value) {
    if (size_ == capacity_) {
      T copy = value;
      grow(size_ + 1);
      new (data_ + size_++) T(std::move(copy));
    } else {
      new (data_ + size_++) T(value);
    }
  }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() { data_[--size_].~T(); }
  void clear() {
    while (size_) pop_back();
  }
  void resize(size_t n, const T& value = T()) {
    reserve(n);
    while (size_ > n) pop_back();
    while (size_ < n) new (data_ + size_++) T(value);
  }
  template <class It>
  void assign(It first, It last) {
    clear();
    reserve(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }
  void insert(size_t at, const T& value) {
    emplace_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    pop_back();
  }
  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return Span<T>(a.data_, a.size_) == Span<T>(b.data_, b.size_);
  }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  void grow(size_t n) {
    size_t capacity = std::max(n, capacity_ * 2);
    T* fresh = static_cast<T*>(::operator new(capacity * sizeof(T), std::align_val_t(alignof(T))));
    for (size_t i = 0; i < size_; ++i) {
      new (fresh + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    free_heap();
    data_ = fresh;
    capacity_ = capacity;
  }
  void free_heap() {
    if (data_ != inline_data()) ::operator delete(data_, std::align_val_t(alignof(T)));
  }
  void release() {
    clear();
    free_heap();
    data_ = inline_data();
    capacity_ = N;
  }
  void take(SmallVector& o) {
    if (o.data_ != o.inline_data()) {
      data_ = std::exchange(o.data_, o.inline_data());
      size_ = std::exchange(o.size_, 0);
      capacity_ = std::exchange(o.capacity_, N);
    } else {
      for (T& v : o) emplace_back(std::move(v));
      o.clear();
    }
  }

  T* data_ = inline_data();
  size_t size_ = 0;
  size_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

template <class T, size_t N>
void append(std::string& out, const SmallVector<T, N>& values) {
  append(out, Span<T>(values.data(), values.size()));
}

}  // namespace taeda
