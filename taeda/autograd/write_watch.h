// Steps of tracking kernels before and after a write.
//
// Before: one party per thread may see a tensor before it is overwritten, which is how
// allow_mutation_on_saved_tensors keeps copies of what graphs saved; while nobody watches this is
// one branch. After: the write is counted (Note [Version counters]). As in PyTorch a tensor without
// a counter is refused only then, behind every other error and with the values written.
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
TAEDA_API void show_write(const Tensor& tensor);
TAEDA_API void check_uncounted_write();
}  // namespace autograd_detail

inline void before_write(const Tensor& tensor) {
  const bool is_watched = autograd_detail::write_watchers.load(std::memory_order_relaxed) != 0;
  if (__builtin_expect(is_watched, 0)) autograd_detail::show_write(tensor);
}
inline void count_write(const Tensor& tensor) {
  if (__builtin_expect(tensor.impl()->has_version_counter(), 1))
    tensor.impl()->bump_version();
  else
    autograd_detail::check_uncounted_write();
}

}  // namespace taeda::autograd
