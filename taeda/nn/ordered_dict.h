// A dictionary that keeps the order of insertion, for the handful of names that a module holds.
#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "taeda/base/error.h"

namespace taeda {

template <class Key, class Value>
class OrderedDict {
 public:
  // An entry reads as `item.key()`, `item.value()`, `*item`, and unpacks as a pair.
  class Item {
   public:
    Item(Key key, Value value) : first(std::move(key)), second(std::move(value)) {}
    const Key& key() const noexcept { return first; }
    Value& value() noexcept { return second; }
    const Value& value() const noexcept { return second; }
    Value& operator*() noexcept { return second; }
    const Value& operator*() const noexcept { return second; }
    Value* operator->() noexcept { return &second; }
    const Value* operator->() const noexcept { return &second; }
    const std::pair<Key, Value> pair() const noexcept { return {first, second}; }

    Key first;
    Value second;
  };
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  // `what` names a key in errors: "Parameter 'weight' is not defined".
  explicit OrderedDict(std::string what = "Key") : what_(std::move(what)) {}
  OrderedDict(std::initializer_list<Item> items) : OrderedDict() {
    for (const Item& item : items) insert(item.key(), item.value());
  }

  const std::string& key_description() const noexcept { return what_; }
  Item& front() { return items_.front(); }
  const Item& front() const { return items_.front(); }
  Item& back() { return items_.back(); }
  const Item& back() const { return items_.back(); }
  Iterator begin() { return items_.begin(); }
  ConstIterator begin() const { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator end() const { return items_.end(); }
  size_t size() const noexcept { return items_.size(); }
  bool is_empty() const noexcept { return items_.empty(); }
  const std::vector<Item>& items() const noexcept { return items_; }

  Value* find(const Key& key) noexcept {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &items_[at->second].second;
  }
  const Value* find(const Key& key) const noexcept {
    return const_cast<OrderedDict*>(this)->find(key);
  }
  bool contains(const Key& key) const noexcept { return find(key) != nullptr; }

  Value& operator[](const Key& key) {
    Value* found = find(key);
    TAEDA_CHECK(found, what_, " '", key, "' is not defined");
    return *found;
  }
  const Value& operator[](const Key& key) const {
    return const_cast<OrderedDict*>(this)->operator[](key);
  }
  Item& operator[](size_t i) { return items_.at(i); }
  const Item& operator[](size_t i) const { return items_.at(i); }

  Value& insert(Key key, Value value) {
    TAEDA_CHECK(!contains(key), what_, " '", key, "' already defined");
    index_.emplace(key, items_.size());
    items_.emplace_back(std::move(key), std::move(value));
    return items_.back().second;
  }
  void update(const OrderedDict& other) {
    for (const Item& item : other) insert(item.key(), item.value());
  }
  void erase(const Key& key) {
    const auto at = index_.find(key);
    TAEDA_CHECK(at != index_.end(), what_, " '", key, "' is not defined");
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at->second));
    index_.clear();
    for (size_t i = 0; i < items_.size(); ++i) index_.emplace(items_[i].first, i);
  }
  void clear() {
    index_.clear();
    items_.clear();
  }

  std::vector<Key> keys() const {
    std::vector<Key> out;
    for (const Item& item : items_) out.push_back(item.first);
    return out;
  }
  std::vector<Value> values() const {
    std::vector<Value> out;
    for (const Item& item : items_) out.push_back(item.second);
    return out;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> out;
    for (const Item& item : items_) out.emplace_back(item.first, item.second);
    return out;
  }

 private:
  std::string what_;
  std::vector<Item> items_;
  std::unordered_map<Key, size_t> index_;
};

}  // namespace taeda
