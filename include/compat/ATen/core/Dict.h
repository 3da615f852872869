// c10::Dict: a map that its copies share and that keeps the order of insertion.
//
// For use inside an extension: operators take and return no dictionaries.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "ATen/core_names.h"

namespace c10 {

template <class Key, class T>
class Dict {
 public:
  // One item: entry.key(), entry.value().
  class Entry {
   public:
    Entry(Key key, T value) : key_(std::move(key)), value_(std::move(value)) {}
    const Key& key() const { return key_; }
    const T& value() const { return value_; }
    void setValue(T value) { value_ = std::move(value); }

   private:
    Key key_;
    T value_;
  };
  using iterator = typename std::vector<Entry>::iterator;

  Dict() : state_(std::make_shared<State>()) {}

  // A dictionary of its own with the same items.
  Dict copy() const {
    Dict out;
    *out.state_ = *state_;
    return out;
  }
  bool is(const Dict& other) const { return state_ == other.state_; }

  size_t size() const { return state_->entries.size(); }
  bool empty() const { return state_->entries.empty(); }
  void reserve(size_t n) const { state_->entries.reserve(n); }
  void clear() const { *state_ = State(); }
  iterator begin() const { return state_->entries.begin(); }
  iterator end() const { return state_->entries.end(); }

  bool contains(const Key& key) const { return state_->places.contains(key); }
  iterator find(const Key& key) const {
    const auto place = state_->places.find(key);
    return place == state_->places.end() ? end()
                                         : begin() + static_cast<std::ptrdiff_t>(place->second);
  }
  const T& at(const Key& key) const {
    const auto item = find(key);
    TAEDA_CHECK_INDEX(item != end(), "Argument not in Dict");
    return item->value();
  }
  // Keeps the value of a key that is there already; says whether it put one in.
  std::pair<iterator, bool> insert(Key key, T value) const {
    const auto [place, is_new] = state_->places.try_emplace(key, size());
    if (is_new) state_->entries.emplace_back(std::move(key), std::move(value));
    return {begin() + static_cast<std::ptrdiff_t>(place->second), is_new};
  }
  std::pair<iterator, bool> insert_or_assign(Key key, T value) const {
    const auto item = find(key);
    if (item == end()) return insert(std::move(key), std::move(value));
    item->setValue(std::move(value));
    return {item, false};
  }
  // How many items had the key.
  size_t erase(const Key& key) const {
    const auto item = find(key);
    if (item == end()) return 0;
    state_->entries.erase(item);
    state_->places.clear();
    for (size_t i = 0; i < size(); ++i) state_->places[state_->entries[i].key()] = i;
    return 1;
  }

 private:
  struct State {
    std::vector<Entry> entries;
    std::unordered_map<Key, size_t> places;
  };
  std::shared_ptr<State> state_;
};

}  // namespace c10

namespace torch {
using ::c10::Dict;
}
