// Memory for tensors: the interface every device implements, and the CPU's caching allocator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "taeda/base/export.h"

namespace taeda {

// Byte counts since the process started; peaks since the last reset_peak_stats. `allocated` counts
// the bytes that callers asked for, exactly; `reserved` is an upper bound of the device memory
// behind this allocator; `cached` is their difference: kept for reuse, or lost to rounding.
struct AllocatorStats {
  int64_t allocated_bytes = 0;
  int64_t allocated_peak = 0;
  int64_t reserved_bytes = 0;
  int64_t reserved_peak = 0;
  int64_t cached_bytes = 0;
  int64_t num_allocs = 0;
  int64_t num_frees = 0;
  int64_t num_os_allocs = 0;
};

// Safe to call from any thread; memory may be freed on another thread than it was allocated on.
class TAEDA_API Allocator {
 public:
  virtual ~Allocator();

  // Memory of at least `nbytes`, aligned to kAllocatorAlignment, not cleared. Zero bytes give
  // nullptr. Throws Error(ErrorKind::OutOfMemory) that names the requested size.
  virtual void* allocate(size_t nbytes) = 0;
  // Frees a block of `allocate(nbytes)`, with the same `nbytes`; nullptr is ignored.
  virtual void deallocate(void* data, size_t nbytes) noexcept = 0;

  // Copies between two of its blocks; memcpy where the host can reach them.
  virtual void copy(void* dst, const void* src, size_t nbytes);
  // An allocator that keeps no statistics returns zeros.
  virtual AllocatorStats stats() const;
  // Peaks start again from the current values.
  virtual void reset_peak_stats();
  // Returns memory that is kept for reuse to the device.
  virtual void empty_cache();
};

inline constexpr size_t kAllocatorAlignment = 64;

// The allocator of CPU tensors. Lives for ever; usable in a forked child.
//
// It caches: sizes up to 1 MiB in size classes with one cache per thread (no lock, no atomic
// read-modify-write), larger ones rounded to pages and cut from regions of the OS by best fit. At
// most TAEDA_CPU_CACHE_LIMIT bytes (environment; a quarter of physical memory or 4 GiB, whichever
// is less) are kept, and growth first gives back free regions rather than hold more than was ever
// in use.
//
// allocated_peak is exact while one thread allocates at a time; when several allocate blocks of up
// to 1 MiB at once it is an upper bound. empty_cache leaves the caches of other threads, which they
// give back at their exit or when they next run full or empty.
//
// TAEDA_CPU_ALLOCATOR=system, and any build with the address sanitizer, replaces it by malloc
// without a cache, so that memory checkers see every block.
TAEDA_API Allocator& cpu_allocator();

}  // namespace taeda
