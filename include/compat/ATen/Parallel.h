// at::parallel_for over Taeda's parallel loop.
#pragma once

#include "taeda/base/parallel.h"

namespace at {
using ::taeda::parallel_for;
inline int get_num_threads() { return ::taeda::num_threads(); }
inline void set_num_threads(int n) { ::taeda::set_num_threads(n); }
// Taeda has one pool, which starts when it is first used.
inline void init_num_threads() {}
inline int get_thread_num() { return ::taeda::thread_index(); }
inline bool in_parallel_region() { return ::taeda::in_parallel_region(); }
namespace internal {
inline constexpr int64_t GRAIN_SIZE = 32768;
}
}  // namespace at
