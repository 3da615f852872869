// Lets one party per thread see tensors before they are overwritten.
//
// allow_mutation_on_saved_tensors keeps copies of what graphs saved this way. Tracking kernels call
// before_write, which also refuses inference tensors; for others, while nobody watches, it is one
// branch.
#pragma once

#include <atomic>
#include <functional>

#include "taeda/core/tensor.h"

namespace taeda::autograd {

using WriteWatcher = std::function<void(const Tensor& tensor)>;
// Replaces this thread's watcher; an empty one ends the watch. Writes inside it are not watched.
TAEDA_API void set_write_watcher(WriteWatcher watcher);

namespace autograd_detail {
extern TAEDA_API constinit std::atomic<uint32_t> write_watchers;  // of all threads
TAEDA_API void check_write(const Tensor& tensor);
}  // namespace autograd_detail

inline void before_write(const Tensor& tensor) {
  const bool is_watched = autograd_detail::write_watchers.load(std::memory_order_relaxed) != 0;
  if (__builtin_expect(is_watched || tensor.is_inference(), 0))
    autograd_detail::check_write(tensor);
}

}  // namespace taeda::autograd
