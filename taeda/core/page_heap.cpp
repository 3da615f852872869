// Best fit over bins, boundary merging, and the two rules that bound the memory kept.
#include "taeda/core/page_heap.h"

#include "taeda/core/os_memory.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace taeda {
namespace {

constexpr size_t kSharedRegionBytes = size_t{8} << 20;
constexpr size_t kGrowthSlackBytes = size_t{32} << 20;
// Smaller free runs are not worth a system call.
constexpr size_t kMinPurgeBytes = size_t{64} << 10;

}  // namespace

struct PageHeap::Region {
  char* data;
  size_t size;
  Pool* pool;
  Region *previous = nullptr, *next = nullptr;  // all regions; `next` also chains retired ones
  Region *previous_free = nullptr, *next_free = nullptr;  // wholly free regions
};

struct PageHeap::Run {
  char* data;
  size_t size;
  size_t purged;  // at least so many of its bytes have no physical pages
  Region* region;
  Run *previous = nullptr, *next = nullptr;  // neighbours in the region
  Run *previous_in_bin = nullptr, *next_in_bin = nullptr;
  bool is_free = false;

  bool is_whole_region() const { return !previous && !next; }
};

PageHeap::~PageHeap() {
  for (const auto& [start, run] : runs_) delete run;
  while (Region* region = regions_) {
    regions_ = region->next;
    region->next = retired_;
    retired_ = region;
  }
  take_retired();
}

void PageHeap::Unmapper::operator()(Region* regions) const noexcept {
  while (Region* region = regions) {
    regions = region->next;
    os_unmap(region->data, region->size);
    delete region;
  }
}

PageHeap::Retired PageHeap::take_retired() noexcept {
  return Retired(std::exchange(retired_, nullptr));
}

int PageHeap::bin_of(size_t nbytes) {
  const size_t granules = nbytes / kRunGranule;
  if (granules < 8) return static_cast<int>(granules);
  const int log2 = std::bit_width(granules) - 1;
  return (log2 - 2) * 8 + static_cast<int>((granules >> (log2 - 3)) & 7);
}

int PageHeap::next_bin(const Pool& pool, int from) {
  for (int word = from / 64; word < kNumBins / 64; ++word) {
    uint64_t bits = pool.non_empty[word];
    if (word == from / 64) bits &= ~uint64_t{0} << (from % 64);
    if (bits) return word * 64 + std::countr_zero(bits);
  }
  return kNumBins;
}

void PageHeap::insert_free(Run* run) noexcept {
  Pool& pool = *run->region->pool;
  const int bin = bin_of(run->size);
  run->is_free = true;
  run->previous_in_bin = nullptr;
  run->next_in_bin = pool.bins[bin];
  if (run->next_in_bin) run->next_in_bin->previous_in_bin = run;
  pool.bins[bin] = run;
  pool.non_empty[bin / 64] |= uint64_t{1} << (bin % 64);
  if (run->is_whole_region()) {
    Region* region = run->region;
    region->previous_free = newest_free_;
    region->next_free = nullptr;
    (newest_free_ ? newest_free_->next_free : oldest_free_) = region;
    newest_free_ = region;
  }
}

void PageHeap::remove_free(Run* run) noexcept {
  Pool& pool = *run->region->pool;
  const int bin = bin_of(run->size);
  run->is_free = false;
  (run->previous_in_bin ? run->previous_in_bin->next_in_bin : pool.bins[bin]) = run->next_in_bin;
  if (run->next_in_bin) run->next_in_bin->previous_in_bin = run->previous_in_bin;
  if (!pool.bins[bin]) pool.non_empty[bin / 64] &= ~(uint64_t{1} << (bin % 64));
  if (run->is_whole_region()) {
    Region* region = run->region;
    (region->previous_free ? region->previous_free->next_free : oldest_free_) = region->next_free;
    (region->next_free ? region->next_free->previous_free : newest_free_) = region->previous_free;
  }
}

// The smallest free run that holds `nbytes`; among equals the one with the fewest pages to fault
// in.
PageHeap::Run* PageHeap::best_fit(Pool& pool, size_t nbytes) {
  for (int bin = next_bin(pool, bin_of(nbytes)); bin < kNumBins; bin = next_bin(pool, bin + 1)) {
    Run* best = nullptr;
    for (Run* run = pool.bins[bin]; run; run = run->next_in_bin) {
      if (run->size < nbytes) continue;
      if (!best || run->size < best->size ||
          (run->size == best->size && run->purged < best->purged))
        best = run;
    }
    if (best) return best;
  }
  return nullptr;
}

// A new region as one run that is not free.
PageHeap::Run* PageHeap::add_region(Pool& pool, size_t nbytes) {
  const size_t size = round_up(&pool == &shared_ ? kSharedRegionBytes : nbytes, os_page_bytes());
  auto region = std::make_unique<Region>(Region{nullptr, size, &pool});
  auto run = std::make_unique<Run>(Run{nullptr, size, size, region.get()});
  void* data = os_map(size, kHugePageBytes);
  if (!data) {
    release_free();
    take_retired();
    data = os_map(size, kHugePageBytes);
    if (!data) return nullptr;
  }
  try {
    runs_.emplace(data, run.get());
  } catch (...) {
    os_unmap(data, size);
    throw;
  }
  ++num_os_allocs_;
  if (&pool == &large_) os_advise_huge(data, size);
  region->data = run->data = static_cast<char*>(data);
  region->next = regions_;
  if (regions_) regions_->previous = region.get();
  regions_ = region.release();
  return run.release();
}

// Cuts a run that is not free in two; the second half, also not free, is returned.
PageHeap::Run* PageHeap::split(Run* run, size_t nbytes) {
  auto rest = std::make_unique<Run>(Run{run->data + nbytes, run->size - nbytes,
                                        run->purged - std::min(run->purged, nbytes), run->region});
  runs_.emplace(rest->data, rest.get());
  run->purged -= rest->purged;
  run->size = nbytes;
  rest->previous = run;
  rest->next = run->next;
  if (rest->next) rest->next->previous = rest.get();
  run->next = rest.get();
  return rest.release();
}

// Joins a run with its neighbour behind it; neither is free.
void PageHeap::absorb_next(Run* run) noexcept {
  Run* gone = run->next;
  run->size += gone->size;
  run->purged += gone->purged;
  run->next = gone->next;
  if (run->next) run->next->previous = run;
  runs_.erase(gone->data);
  delete gone;
}

void* PageHeap::allocate(size_t nbytes, size_t alignment) {
  nbytes = round_up(nbytes, kRunGranule);
  const size_t needed = nbytes + (alignment > kRunGranule ? alignment - kRunGranule : 0);
  Pool& pool = needed < kHugePageBytes ? shared_ : large_;

  in_use_peak_ = std::max(in_use_peak_, in_use_ + nbytes);
  Run* run = best_fit(pool, needed);
  if (run) remove_free(run);
  const size_t growth = run ? std::min(run->purged, nbytes) : nbytes;
  const size_t bound = in_use_peak_ + in_use_peak_ / 8 + kGrowthSlackBytes;
  if (growth && reserved_ + growth > bound) give_back_until(bound - std::min(bound, growth));
  if (!run) run = add_region(pool, needed);
  if (!run) return nullptr;
  // A split that throws leaves its pieces whole; runs that are not free are given back before the
  // error leaves.
  try {
    const size_t front = round_up(reinterpret_cast<uintptr_t>(run->data), alignment) -
                         reinterpret_cast<uintptr_t>(run->data);
    if (front) {
      Run* aligned = split(run, front);
      insert_free(run);
      run = aligned;
    }
    if (run->size > nbytes) insert_free(split(run, nbytes));
  } catch (...) {
    insert_free(run);
    throw;
  }
  reserved_ += std::exchange(run->purged, 0);
  reserved_peak_ = std::max(reserved_peak_, reserved_);
  in_use_ += run->size;
  return run->data;
}

void PageHeap::deallocate(void* data) noexcept {
  Run* run = runs_.find(data)->second;
  in_use_ -= run->size;
  if (run->next && run->next->is_free) {
    remove_free(run->next);
    absorb_next(run);
  }
  if (run->previous && run->previous->is_free) {
    run = run->previous;
    remove_free(run);
    absorb_next(run);
  }
  insert_free(run);
  if (reserved_ - in_use_ > cache_limit_) give_back_until(in_use_ + cache_limit_);
}

void PageHeap::release_free() noexcept {
  while (oldest_free_) retire_region(oldest_free_);
  purge_free_runs(0);
}

void PageHeap::give_back_until(size_t target) noexcept {
  while (reserved_ > target && oldest_free_) retire_region(oldest_free_);
  if (reserved_ > target) purge_free_runs(target);
}

void PageHeap::retire_region(Region* region) noexcept {
  const auto it = runs_.find(region->data);
  Run* run = it->second;
  remove_free(run);
  reserved_ -= run->size - run->purged;
  runs_.erase(it);
  delete run;
  (region->previous ? region->previous->next : regions_) = region->next;
  if (region->next) region->next->previous = region->previous;
  region->next = retired_;
  retired_ = region;
}

// Largest runs first: the fewest calls for the most memory.
void PageHeap::purge_free_runs(size_t target) noexcept {
  for (Pool* pool : {&large_, &shared_}) {
    for (int bin = kNumBins - 1; bin >= bin_of(kMinPurgeBytes); --bin) {
      for (Run* run = pool->bins[bin]; run; run = run->next_in_bin) {
        if (reserved_ <= target) return;
        if (run->purged == run->size || !os_purge(run->data, run->size)) continue;
        reserved_ -= run->size - run->purged;
        run->purged = run->size;
      }
    }
  }
}

}  // namespace taeda
