// One parallel loop for the whole library, on the OpenMP runtime.
#pragma once

#include <cstdint>

#include "taeda/base/export.h"
#include "taeda/base/function_ref.h"

namespace taeda {

// Calls body(first, last) over disjoint ranges that cover [begin, end). Runs serially when the
// range is at most `grain`, inside another parallel region, in a forked child, or with one thread.
// An exception from a body is rethrown on the calling thread after all ranges ended. The split
// never changes a result: bodies write disjoint data and reductions follow their own fixed tree.
TAEDA_API void parallel_for(int64_t begin, int64_t end, int64_t grain,
                            FunctionRef<void(int64_t, int64_t)> body);

// Threads parallel_for may use: set_num_threads, else OMP_NUM_THREADS, else the cores this process
// may run on within its cgroup's CPU quota.
TAEDA_API int num_threads();
TAEDA_API void set_num_threads(int n);
TAEDA_API bool in_parallel_region();
// Index of the calling thread inside its parallel region, 0 outside.
TAEDA_API int thread_index();

}  // namespace taeda
