// The type of a list of integers that follows a number in a call: max_pool2d(x, 2, {1, 2}).
#pragma once

#include <array>
#include <concepts>
#include <initializer_list>

#include "taeda/core/symint.h"

namespace taeda {

// A list, or one number that stands for `count` equal ones. Valid while the call lasts, as Span is.
template <class Item, size_t count>
class NumberOrList {
 public:
  NumberOrList() = default;
  template <IntegerLike Number>
    requires std::constructible_from<Item, Number>
  NumberOrList(Number number) : is_number_(true) {
    numbers_.fill(Item(number));
  }
  NumberOrList(std::initializer_list<Item> list) : list_(list.begin(), list.size()) {}
  template <class List>
    requires(!IntegerLike<List> && std::convertible_to<const List&, Span<Item>>)
  NumberOrList(const List& list) : list_(list) {}

  Span<Item> list() const { return is_number_ ? Span<Item>(numbers_.data(), count) : list_; }

 private:
  std::array<Item, count> numbers_{};
  Span<Item> list_;
  bool is_number_ = false;
};

}  // namespace taeda
