// Requests on their way to worker threads, and batches on their way back.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "taeda/base/error.h"

namespace taeda::data {

// One thread asks and takes; any number of workers call next_job and finish. A batch is taken in
// the order of its request, or, where the queue is not ordered, as soon as it is there.
template <class Request, class Batch>
class BatchQueue {
 public:
  struct Job {
    size_t number;
    Request request;
  };
  // A batch, an error, or neither where a dataset has ended.
  struct Result {
    std::optional<Batch> batch;
    std::exception_ptr error;
  };

  explicit BatchQueue(bool is_ordered) : is_ordered_(is_ordered) {}

  void ask(Request request) {
    {
      std::lock_guard lock(mutex_);
      jobs_.push_back({next_asked_++, std::move(request)});
      ++under_way_;
    }
    job_is_there_.notify_one();
  }

  // The oldest result; nothing where nothing is under way. RuntimeError after `timeout`.
  std::optional<Result> take(std::optional<std::chrono::milliseconds> timeout) {
    std::unique_lock lock(mutex_);
    if (under_way_ == 0) return std::nullopt;
    const auto is_ready = [&] {
      return !results_.empty() && (!is_ordered_ || results_.begin()->first == next_taken_);
    };
    if (timeout) {
      TAEDA_CHECK(result_is_there_.wait_for(lock, *timeout, is_ready),
                  "Timeout in DataLoader queue while waiting for next batch (timeout was ",
                  timeout->count(), " ms)");
    } else {
      result_is_there_.wait(lock, is_ready);
    }
    const auto first = results_.begin();
    Result result = std::move(first->second);
    next_taken_ = first->first + 1;
    results_.erase(first);
    --under_way_;
    return result;
  }

  size_t under_way() const {
    std::lock_guard lock(mutex_);
    return under_way_;
  }

  // Forgets what nobody began, waits for what somebody did, and drops all results.
  void drain() {
    std::unique_lock lock(mutex_);
    under_way_ -= jobs_.size();
    jobs_.clear();
    result_is_there_.wait(lock, [&] { return results_.size() == under_way_; });
    results_.clear();
    under_way_ = 0;
    next_taken_ = next_asked_;
  }

  // For workers: nothing once the queue is closed.
  std::optional<Job> next_job() {
    std::unique_lock lock(mutex_);
    job_is_there_.wait(lock, [&] { return is_closed_ || !jobs_.empty(); });
    if (is_closed_) return std::nullopt;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  void finish(size_t number, Result result) {
    {
      std::lock_guard lock(mutex_);
      results_.emplace(number, std::move(result));
    }
    result_is_there_.notify_all();
  }

  void close() {
    {
      std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    job_is_there_.notify_all();
  }

 private:
  const bool is_ordered_;
  mutable std::mutex mutex_;
  std::condition_variable job_is_there_, result_is_there_;
  std::deque<Job> jobs_;
  std::map<size_t, Result> results_;  // by the request's number
  size_t next_asked_ = 0, next_taken_ = 0;
  size_t under_way_ = 0;  // asked for and not yet taken
  bool is_closed_ = false;
};

}  // namespace taeda::data
