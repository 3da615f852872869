// The iterator of a data loader: an input iterator whose batches come one after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "taeda/base/error.h"

namespace taeda::data {

// Copies share their place. The first batch is asked for when it is looked at, not before, and an
// iterator that has come to the end equals `end()`.
template <class Batch>
class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  using iterator_category = std::input_iterator_tag;
  using Source = std::function<std::optional<Batch>()>;

  Iterator() = default;  // the end
  explicit Iterator(Source next) : place_(std::make_shared<Place>(std::move(next))) {}

  Iterator& operator++() {
    TAEDA_CHECK(place_, "Incrementing the DataLoader's past-the-end iterator is not allowed");
    TAEDA_CHECK(place_->batch(), "Attempted to increment iterator past the end");
    place_->advance();
    return *this;
  }
  Batch& operator*() const {
    TAEDA_CHECK(place_, "Dereferencing the DataLoader's past-the-end iterator is not allowed");
    TAEDA_CHECK(place_->batch(), "Attempted to dereference iterator that was past the end");
    return *place_->batch();
  }
  Batch* operator->() const { return &**this; }

  friend bool operator==(const Iterator& a, const Iterator& b) {
    if (a.place_ && b.place_) return a.place_ == b.place_;
    return a.is_at_end() && b.is_at_end();
  }

 private:
  class Place {
   public:
    explicit Place(Source next) : next_(std::move(next)) {}
    std::optional<Batch>& batch() {
      if (!is_started_) advance();
      return batch_;
    }
    void advance() {
      batch_ = next_();
      is_started_ = true;
    }

   private:
    Source next_;
    std::optional<Batch> batch_;
    bool is_started_ = false;
  };
  bool is_at_end() const { return !place_ || !place_->batch(); }

  std::shared_ptr<Place> place_;
};

}  // namespace taeda::data
