// Examples of chunks on their way from the threads that read them to the thread that takes batches.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "taeda/base/error.h"
#include "taeda/data/worker_exception.h"

namespace taeda::data::datasets {

// Any number of threads add, and any number take. `Batch` is a container of examples.
template <class Batch>
class ChunkBuffer {
 public:
  ChunkBuffer(size_t batch_size, size_t capacity) : batch_size_(batch_size), capacity_(capacity) {}

  // The next examples, fewer than a batch only in front of an error and at the end; nothing behind
  // it. Throws WorkerException where a chunk could not be read.
  std::optional<Batch> take() {
    std::unique_lock lock(mutex_);
    is_filled_.wait(lock, [&] { return count_ >= batch_size_ || has_error_ || is_closed_; });
    if (entries_.empty()) return std::nullopt;
    if (const auto* error = std::get_if<1>(&entries_.front())) {
      const WorkerException thrown(*error);
      entries_.pop_front();
      has_error_ = std::any_of(entries_.begin(), entries_.end(), &is_error);
      throw thrown;
    }
    Batch batch;
    while (batch.size() < batch_size_ && !entries_.empty() && !is_error(entries_.front())) {
      batch.emplace_back(std::move(std::get<0>(entries_.front())));
      entries_.pop_front();
    }
    count_ -= batch.size();
    lock.unlock();
    has_room_.notify_all();
    return batch;
  }

  // Adds a chunk in the order of `sampler`, all of it, once there are fewer than `capacity`
  // examples. A closed buffer forgets it. The sampler is used under the buffer's lock.
  template <class Sampler>
  void add(Batch chunk, Sampler& sampler) {
    std::unique_lock lock(mutex_);
    if (!wait_for_room(lock)) return;
    sampler.reset(chunk.size());
    const auto indices = sampler.next(chunk.size());
    TAEDA_CHECK(indices && indices->size() == chunk.size(),
                "the sampler of examples must give each of a chunk's ", chunk.size(), " once");
    for (const size_t index : *indices) {
      TAEDA_CHECK(index < chunk.size(), "Index out of range");
      entries_.emplace_back(std::in_place_index<0>, std::move(chunk[index]));
    }
    count_ += chunk.size();
    lock.unlock();
    is_filled_.notify_all();
  }

  void add_error(std::exception_ptr error) {
    std::unique_lock lock(mutex_);
    if (!wait_for_room(lock)) return;
    entries_.emplace_back(std::in_place_index<1>, std::move(error));
    has_error_ = true;
    lock.unlock();
    is_filled_.notify_all();
  }

  // Nothing more is added; what is there can be taken.
  void close() {
    {
      std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    has_room_.notify_all();
    is_filled_.notify_all();
  }

 private:
  using Example = typename Batch::value_type;
  using Entry = std::variant<Example, std::exception_ptr>;

  static bool is_error(const Entry& entry) { return entry.index() == 1; }

  bool wait_for_room(std::unique_lock<std::mutex>& lock) {
    has_room_.wait(lock, [&] { return count_ < capacity_ || is_closed_; });
    return !is_closed_;
  }

  const size_t batch_size_, capacity_;
  std::mutex mutex_;
  std::condition_variable is_filled_, has_room_;
  std::deque<Entry> entries_;
  size_t count_ = 0;  // of examples
  bool has_error_ = false, is_closed_ = false;
};

}  // namespace taeda::data::datasets
