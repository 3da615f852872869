// The caching CPU allocator: thread caches over slabs and page runs.
//
// A block of up to 1 MiB lives in a list of its size class that only its thread touches. When such
// a list runs empty or full, a batch moves to or from what all threads share: slabs for classes up
// to 16 KiB, the page heap for the rest. Larger blocks come from the page heap directly. One lock
// guards everything shared.
//
// Note [Allocation counters]: each thread counts its own bytes (freeing another thread's block
// counts negative) and the most it had. The peak of the whole process is found by folding: the sum
// of the threads' peaks bounds what was allocated at once since the last fold, and is exact if one
// thread allocated meanwhile. Every allocation and release above 1 MiB folds, so only small blocks
// can blur it.
#include "taeda/base/env.h"
#include "taeda/core/cpu_allocator.h"
#include "taeda/core/os_memory.h"
#include "taeda/core/page_heap.h"
#include "taeda/core/size_class.h"
#include "taeda/core/slab.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>

namespace taeda {
namespace {

// Written by its thread alone, read by all: plain loads and stores, made atomic so that reading is
// defined.
class Counter {
 public:
  int64_t get() const { return value_.load(std::memory_order_relaxed); }
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(int64_t amount) { set(get() + amount); }

 private:
  std::atomic<int64_t> value_{0};
};

struct Counters {
  Counter allocated, peak, num_allocs, num_frees;

  void count_alloc(size_t nbytes) {
    const int64_t now = allocated.get() + static_cast<int64_t>(nbytes);
    allocated.set(now);
    if (now > peak.get()) peak.set(now);
    num_allocs.add(1);
  }
  void count_free(size_t nbytes) {
    allocated.add(-static_cast<int64_t>(nbytes));
    num_frees.add(1);
  }
};

struct ThreadCache {
  struct Bin {
    FreeBlock* head = nullptr;
    uint32_t count = 0;
    uint32_t kept = 0;
  };
  std::array<Bin, kNumSizeClasses> bins;
  Counters counters;
  uint32_t flush_epoch = 0;
  ThreadCache *previous = nullptr, *next = nullptr;
};

constinit thread_local ThreadCache* this_thread TAEDA_STATIC_TLS = nullptr;

size_t cache_limit() {
  const size_t otherwise = std::min(os_physical_bytes() / 4, size_t{4} << 30);
  const long limit = env_int("TAEDA_CPU_CACHE_LIMIT", -1);
  return limit >= 0 ? static_cast<size_t>(limit) : otherwise;
}

class CachingAllocator final : public Allocator {
 public:
  CachingAllocator() : heap_(cache_limit()) {
    pthread_key_create(&exit_key_, [](void* cache) { retire(static_cast<ThreadCache*>(cache)); });
  }
  static CachingAllocator& instance();

  void* allocate(size_t nbytes) override {
    // Zero wraps around and takes the slow path with the large sizes.
    if (ThreadCache* cache = this_thread; cache && nbytes - 1 < kMaxClassBytes) [[likely]] {
      ThreadCache::Bin& bin = cache->bins[size_class(nbytes)];
      if (FreeBlock* block = bin.head) [[likely]] {
        bin.head = block->next;
        --bin.count;
        cache->counters.count_alloc(nbytes);
        return block;
      }
    }
    return allocate_slow(nbytes);
  }

  void deallocate(void* data, size_t nbytes) noexcept override {
    if (ThreadCache* cache = this_thread; cache && data && nbytes - 1 < kMaxClassBytes) [[likely]] {
      ThreadCache::Bin& bin = cache->bins[size_class(nbytes)];
      if (bin.count < bin.kept) [[likely]] {
        push(bin, data);
        cache->counters.count_free(nbytes);
        return;
      }
    }
    deallocate_slow(data, nbytes);
  }

  AllocatorStats stats() const override;
  void reset_peak_stats() override;
  void empty_cache() override;

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  static void push(ThreadCache::Bin& bin, void* data) {
    auto* block = static_cast<FreeBlock*>(data);
    block->next = bin.head;
    bin.head = block;
    ++bin.count;
  }

  void* allocate_slow(size_t nbytes);
  void deallocate_slow(void* data, size_t nbytes) noexcept;
  void* allocate_large(ThreadCache& cache, size_t nbytes);
  ThreadCache* make_cache() noexcept;
  static void retire(ThreadCache* cache) noexcept;

  // The rest is called with the lock held.
  void refill(ThreadCache::Bin& bin, int index);
  void flush(ThreadCache::Bin& bin, int index, uint32_t count_to_keep) noexcept;
  void flush_all(ThreadCache& cache) noexcept;
  void flush_if_asked(ThreadCache& cache) noexcept;
  void fold_peaks() noexcept;
  int64_t sum(Counter Counters::* member) const noexcept;

  mutable std::mutex mutex_;
  PageHeap heap_;
  std::array<SlabList, kNumSlabClasses> slabs_;
  ThreadCache* caches_ = nullptr;
  Counters gone_;  // of threads that ended
  int64_t peak_ = 0;
  uint32_t flush_epoch_ = 0;
  pthread_key_t exit_key_;
};

CachingAllocator& CachingAllocator::instance() {
  // Never destroyed: memory is freed by static destructors of others and by threads that outlive
  // main.
  static CachingAllocator& allocator = []() -> CachingAllocator& {
    static CachingAllocator& made = *new CachingAllocator;
    pthread_atfork([] { made.lock_for_fork(); }, [] { made.unlock_after_fork(); },
                   [] { made.unlock_after_fork(); });
    return made;
  }();
  return allocator;
}

// nullptr when there is no memory for it.
ThreadCache* CachingAllocator::make_cache() noexcept {
  auto* cache = new (std::nothrow) ThreadCache;
  if (!cache) return nullptr;
  for (int i = 0; i < kNumSizeClasses; ++i) cache->bins[i].kept = size_class_kept(i);
  {
    std::lock_guard lock(mutex_);
    cache->flush_epoch = flush_epoch_;
    cache->next = caches_;
    if (caches_) caches_->previous = cache;
    caches_ = cache;
  }
  pthread_setspecific(exit_key_, cache);
  return this_thread = cache;
}

// Runs at thread exit; a thread-local destructor that frees memory later makes a new cache.
void CachingAllocator::retire(ThreadCache* cache) noexcept {
  CachingAllocator& self = instance();
  this_thread = nullptr;
  PageHeap::Retired unmapped_after_unlock;
  std::lock_guard lock(self.mutex_);
  self.flush_all(*cache);
  self.fold_peaks();
  for (Counter Counters::* member :
       {&Counters::allocated, &Counters::num_allocs, &Counters::num_frees})
    (self.gone_.*member).add((cache->counters.*member).get());
  self.gone_.peak.set(self.gone_.allocated.get());
  (cache->previous ? cache->previous->next : self.caches_) = cache->next;
  if (cache->next) cache->next->previous = cache->previous;
  delete cache;
  unmapped_after_unlock = self.heap_.take_retired();
}

void* CachingAllocator::allocate_slow(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  if (nbytes > os_largest_allocation()) throw_cpu_out_of_memory(nbytes);
  ThreadCache* cache = this_thread ? this_thread : make_cache();
  if (!cache) throw_cpu_out_of_memory(nbytes);
  if (nbytes > kMaxClassBytes) return allocate_large(*cache, nbytes);

  ThreadCache::Bin& bin = cache->bins[size_class(nbytes)];
  {
    PageHeap::Retired unmapped_after_unlock;
    std::lock_guard lock(mutex_);
    flush_if_asked(*cache);
    try {
      refill(bin, size_class(nbytes));
    } catch (const std::bad_alloc&) {
      // No room for bookkeeping; the bin may still have got some blocks.
    }
    unmapped_after_unlock = heap_.take_retired();
  }
  FreeBlock* block = bin.head;
  if (!block) throw_cpu_out_of_memory(nbytes);
  bin.head = block->next;
  --bin.count;
  cache->counters.count_alloc(nbytes);
  return block;
}

void* CachingAllocator::allocate_large(ThreadCache& cache, size_t nbytes) {
  void* data = nullptr;
  {
    PageHeap::Retired unmapped_after_unlock;
    std::lock_guard lock(mutex_);
    fold_peaks();
    try {
      data = heap_.allocate(nbytes);
    } catch (const std::bad_alloc&) {
      // Reported below.
    }
    if (data) cache.counters.count_alloc(nbytes);
    unmapped_after_unlock = heap_.take_retired();
  }
  if (!data) throw_cpu_out_of_memory(nbytes);
  return data;
}

void CachingAllocator::deallocate_slow(void* data, size_t nbytes) noexcept {
  if (!data) return;
  ThreadCache* cache = this_thread ? this_thread : make_cache();
  PageHeap::Retired unmapped_after_unlock;
  std::lock_guard lock(mutex_);
  if (nbytes > kMaxClassBytes) {
    fold_peaks();
    heap_.deallocate(data);
  } else {
    const int index = size_class(nbytes);
    ThreadCache::Bin single;
    ThreadCache::Bin& bin = cache ? cache->bins[index] : single;
    if (cache) flush_if_asked(*cache);
    if (bin.count >= bin.kept) flush(bin, index, bin.kept / 2);
    push(bin, data);
    if (!cache) flush(bin, index, 0);
  }
  Counters& counters = cache ? cache->counters : gone_;
  counters.count_free(nbytes);
  if (nbytes > kMaxClassBytes || !cache) counters.peak.set(counters.allocated.get());
  unmapped_after_unlock = heap_.take_retired();
}

// Fills an empty bin to half of its limit, at least with one block; with none when the OS has no
// memory.
void CachingAllocator::refill(ThreadCache::Bin& bin, int index) {
  const size_t block_bytes = size_class_bytes(index);
  if (index >= kNumSlabClasses) {
    if (void* data = heap_.allocate(block_bytes)) push(bin, data);
    return;
  }
  for (uint32_t i = 0; i < bin.kept / 2; ++i) {
    FreeBlock* block = slabs_[index].take(heap_, block_bytes);
    if (!block) return;
    push(bin, block);
  }
}

void CachingAllocator::flush(ThreadCache::Bin& bin, int index, uint32_t count_to_keep) noexcept {
  while (bin.count > count_to_keep) {
    FreeBlock* block = bin.head;
    bin.head = block->next;
    --bin.count;
    if (index < kNumSlabClasses)
      slabs_[index].give(heap_, block);
    else
      heap_.deallocate(block);
  }
}

void CachingAllocator::flush_all(ThreadCache& cache) noexcept {
  for (int i = 0; i < kNumSizeClasses; ++i) flush(cache.bins[i], i, 0);
  cache.flush_epoch = flush_epoch_;
}

void CachingAllocator::flush_if_asked(ThreadCache& cache) noexcept {
  if (cache.flush_epoch != flush_epoch_) flush_all(cache);
}

int64_t CachingAllocator::sum(Counter Counters::* member) const noexcept {
  int64_t total = (gone_.*member).get();
  for (const ThreadCache* cache = caches_; cache; cache = cache->next)
    total += (cache->counters.*member).get();
  return total;
}

// A thread that allocates just now may keep its old peak or lose its newest one; both are blocks of
// up to 1 MiB in flight.
void CachingAllocator::fold_peaks() noexcept {
  peak_ = std::max(peak_, sum(&Counters::peak));
  for (ThreadCache* cache = caches_; cache; cache = cache->next)
    cache->counters.peak.set(cache->counters.allocated.get());
}

AllocatorStats CachingAllocator::stats() const {
  std::lock_guard lock(mutex_);
  AllocatorStats stats;
  stats.allocated_bytes = sum(&Counters::allocated);
  stats.allocated_peak = std::max(peak_, sum(&Counters::peak));
  stats.reserved_bytes = static_cast<int64_t>(heap_.reserved_bytes());
  stats.reserved_peak = static_cast<int64_t>(heap_.reserved_peak());
  stats.cached_bytes = stats.reserved_bytes - stats.allocated_bytes;
  stats.num_allocs = sum(&Counters::num_allocs);
  stats.num_frees = sum(&Counters::num_frees);
  stats.num_os_allocs = heap_.num_os_allocs();
  return stats;
}

void CachingAllocator::reset_peak_stats() {
  std::lock_guard lock(mutex_);
  fold_peaks();
  peak_ = sum(&Counters::allocated);
  heap_.reset_peak();
}

void CachingAllocator::empty_cache() {
  PageHeap::Retired unmapped_after_unlock;
  std::lock_guard lock(mutex_);
  ++flush_epoch_;
  if (this_thread) flush_all(*this_thread);
  for (SlabList& slabs : slabs_) slabs.release_empty(heap_);
  heap_.release_free();
  unmapped_after_unlock = heap_.take_retired();
}

}  // namespace

Allocator& caching_cpu_allocator() { return CachingAllocator::instance(); }

}  // namespace taeda
