// Runs of pages cut from regions of the OS by best fit, split and merged; the lower half of the CPU
// allocator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "taeda/base/export.h"

namespace taeda {

inline constexpr size_t kRunGranule = 4096;

// Not thread-safe: the owner holds its lock around every call but unmap.
//
// Requests below 2 MiB share regions of 8 MiB; each larger one that fits no free run gets a region
// of its own size, with huge pages. A region that is wholly free may go back to the OS; free runs
// inside regions in use can only have their physical pages given back (purged).
//
// `reserved` is what may be resident: mapped bytes less those never handed out or purged since. Two
// rules bound it:
//  - what is kept beyond use never exceeds `cache_limit`;
//  - before it grows past the most that was ever in use (and an eighth, and 32 MiB), free memory is
//    given back, oldest first. So peak memory stays near that of an allocator that keeps nothing.
class TAEDA_API PageHeap {
 public:
  explicit PageHeap(size_t cache_limit) : cache_limit_(cache_limit) {}
  ~PageHeap();
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;

  // `nbytes` rounded up to kRunGranule, at a multiple of `alignment` (a power of two, at most 2
  // MiB); nullptr when the OS has no more. Throws std::bad_alloc where there is no room for
  // bookkeeping.
  void* allocate(size_t nbytes, size_t alignment = kRunGranule);
  // Frees a block of `allocate`.
  void deallocate(void* data) noexcept;
  // Gives back everything that is free.
  void release_free() noexcept;

  struct Region;
  struct Unmapper {
    void operator()(Region* regions) const noexcept;
  };
  // Regions given up but still mapped. Taken under the lock, unmapped when the result is destroyed
  // without it: unmapping a gigabyte takes milliseconds.
  using Retired = std::unique_ptr<Region, Unmapper>;
  Retired take_retired() noexcept;

  size_t in_use_bytes() const { return in_use_; }
  size_t reserved_bytes() const { return reserved_; }
  size_t reserved_peak() const { return reserved_peak_; }
  void reset_peak() { reserved_peak_ = reserved_; }
  int64_t num_os_allocs() const { return num_os_allocs_; }

 private:
  struct Run;
  // Free runs by size: eight bins to a doubling, lists inside.
  static constexpr int kNumBins = 512;
  struct Pool {
    std::array<Run*, kNumBins> bins{};
    std::array<uint64_t, kNumBins / 64> non_empty{};
  };

  static int bin_of(size_t nbytes);
  static int next_bin(const Pool& pool, int from);
  void insert_free(Run* run) noexcept;
  void remove_free(Run* run) noexcept;
  Run* best_fit(Pool& pool, size_t nbytes);
  Run* add_region(Pool& pool, size_t nbytes);
  Run* split(Run* run, size_t nbytes);
  void absorb_next(Run* run) noexcept;
  void give_back_until(size_t target) noexcept;
  void retire_region(Region* region) noexcept;
  void purge_free_runs(size_t target) noexcept;

  const size_t cache_limit_;
  Pool shared_, large_;
  std::unordered_map<void*, Run*> runs_;  // every run, free or not, by its start
  Region* regions_ = nullptr;
  Region* oldest_free_ = nullptr;  // wholly free regions, in the order they became so
  Region* newest_free_ = nullptr;
  Region* retired_ = nullptr;
  size_t in_use_ = 0, in_use_peak_ = 0, reserved_ = 0, reserved_peak_ = 0;
  int64_t num_os_allocs_ = 0;
};

}  // namespace taeda
