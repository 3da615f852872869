// c10::List: a list that its copies share, as an argument or a result of operators.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "ATen/core_names.h"
#include "taeda/dispatch/function_kernel.h"

namespace c10 {

template <class T>
class List {
 public:
  using value_type = T;
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  List() : items_(std::make_shared<std::vector<T>>()) {}
  List(std::initializer_list<T> items) : List(std::vector<T>(items)) {}
  explicit List(std::vector<T> items)
      : items_(std::make_shared<std::vector<T>>(std::move(items))) {}
  explicit List(ArrayRef<T> items) : List(items.vec()) {}

  // A list of its own with the same items.
  List copy() const { return List(*items_); }
  const std::vector<T>& vec() const { return *items_; }
  bool is(const List& other) const { return items_ == other.items_; }

  size_t size() const { return items_->size(); }
  bool empty() const { return items_->empty(); }
  T get(size_t i) const {
    check(i);
    return (*items_)[i];
  }
  T extract(size_t i) const {
    check(i);
    return std::exchange((*items_)[i], T());
  }
  void set(size_t i, T value) const {
    check(i);
    (*items_)[i] = std::move(value);
  }
  decltype(auto) operator[](size_t i) const {
    check(i);
    return (*items_)[i];
  }
  iterator begin() const { return items_->begin(); }
  iterator end() const { return items_->end(); }

  void clear() const { items_->clear(); }
  void reserve(size_t n) const { items_->reserve(n); }
  void resize(size_t n) const { items_->resize(n); }
  void resize(size_t n, const T& value) const { items_->resize(n, value); }
  void push_back(T value) const { items_->push_back(std::move(value)); }
  template <class... Args>
  void emplace_back(Args&&... args) const {
    items_->push_back(T(std::forward<Args>(args)...));
  }
  void append(const List& other) const {
    const std::vector<T> items = *other.items_;
    items_->insert(items_->end(), items.begin(), items.end());
  }
  void pop_back() const { items_->pop_back(); }
  iterator insert(iterator at, T value) const { return items_->insert(at, std::move(value)); }
  iterator erase(iterator at) const { return items_->erase(at); }
  friend bool operator==(const List& a, const List& b) { return *a.items_ == *b.items_; }

 private:
  void check(size_t i) const {
    TAEDA_CHECK_INDEX(i < size(), "list index out of range: got ", i, " of ", size());
  }

  std::shared_ptr<std::vector<T>> items_;
};

}  // namespace c10

namespace taeda::dispatch {

template <class T>
struct Boxing<c10::List<T>> {
  using Owned = c10::List<T>;
  static Owned from(const Value& v) { return Owned(Boxing<std::vector<T>>::from(v)); }
  static Owned pass(const Owned& o) { return o; }
  static Value to(const Owned& list) { return Boxing<std::vector<T>>::to(list.vec()); }
};
// An undefined tensor stands for a missing one.
template <>
struct Boxing<c10::List<std::optional<Tensor>>> {
  using Owned = c10::List<std::optional<Tensor>>;
  static Owned from(const Value& v) {
    Owned out;
    for (const Tensor& t : v.get<std::vector<Tensor>>())
      out.push_back(t.defined() ? std::optional<Tensor>(t) : std::nullopt);
    return out;
  }
  static Owned pass(const Owned& o) { return o; }
  static Value to(const Owned& list) {
    std::vector<Tensor> out;
    for (const std::optional<Tensor>& t : list) out.push_back(t.value_or(Tensor()));
    return Value(std::move(out));
  }
};

namespace kernel_detail {
template <class T>
struct TypeText<c10::List<T>> : TypeText<std::vector<T>> {};
}  // namespace kernel_detail

}  // namespace taeda::dispatch

namespace torch {
using ::c10::List;
}
