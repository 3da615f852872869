// Lets one party per thread see tensors before they are overwritten.
//
// allow_mutation_on_saved_tensors keeps copies of what graphs saved this way. Tracking kernels call
// before_write; while nobody watches that is one branch.
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
TAEDA_API void tell_write_watcher(const Tensor& tensor);
}  // namespace autograd_detail

inline void before_write(const Tensor& tensor) {
  if (__builtin_expect(autograd_detail::write_watchers.load(std::memory_order_relaxed) != 0, 0))
    autograd_detail::tell_write_watcher(tensor);
}

}  // namespace taeda::autograd
