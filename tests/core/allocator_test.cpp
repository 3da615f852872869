// The CPU allocators: alignment, reuse, statistics, limits, threads, fork, and running out of
// memory.
#include "taeda/core/allocator.h"

#include "taeda/base/error.h"
#include "taeda/core/cpu_allocator.h"
#include "taeda/core/os_memory.h"
#include "taeda/core/page_heap.h"
#include "taeda/core/size_class.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace taeda {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class CpuAllocator : public testing::TestWithParam<Allocator* (*)()> {
 protected:
  Allocator& allocator = *GetParam()();
};
INSTANTIATE_TEST_SUITE_P(Each, CpuAllocator,
                         testing::Values([] { return &caching_cpu_allocator(); },
                                         [] { return &system_cpu_allocator(); }),
                         [](const auto& info) { return info.index == 0 ? "Caching" : "System"; });

TEST_P(CpuAllocator, AlignsEverySize) {
  for (size_t nbytes : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{1025}, size_t{16385},
                        kMiB, kMiB + 1, 3 * kMiB}) {
    void* data = allocator.allocate(nbytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kAllocatorAlignment, 0u) << nbytes;
    std::memset(data, 0xAB, nbytes);
    allocator.deallocate(data, nbytes);
  }
}

TEST_P(CpuAllocator, GivesNullForZeroBytes) {
  const AllocatorStats before = allocator.stats();
  EXPECT_EQ(allocator.allocate(0), nullptr);
  allocator.deallocate(nullptr, 0);
  allocator.deallocate(nullptr, 64);
  EXPECT_EQ(allocator.stats().num_allocs, before.num_allocs);
  EXPECT_EQ(allocator.stats().num_frees, before.num_frees);
}

TEST_P(CpuAllocator, CountsRequestedBytes) {
  const AllocatorStats before = allocator.stats();
  void* small = allocator.allocate(100);
  void* large = allocator.allocate(5 * kMiB + 1);
  AllocatorStats now = allocator.stats();
  EXPECT_EQ(now.allocated_bytes - before.allocated_bytes, static_cast<int64_t>(5 * kMiB + 101));
  EXPECT_EQ(now.num_allocs - before.num_allocs, 2);
  EXPECT_GE(now.reserved_bytes, now.allocated_bytes);
  allocator.deallocate(small, 100);
  allocator.deallocate(large, 5 * kMiB + 1);
  now = allocator.stats();
  EXPECT_EQ(now.allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(now.num_frees - before.num_frees, 2);
}

TEST_P(CpuAllocator, PeakWitnessesTransientBlocks) {
  for (size_t transient : {size_t{72}, size_t{40000}, 3 * kMiB}) {
    void* result = allocator.allocate(1000);
    allocator.reset_peak_stats();
    const int64_t base = allocator.stats().allocated_bytes;
    EXPECT_EQ(allocator.stats().allocated_peak, base);
    allocator.deallocate(allocator.allocate(transient), transient);
    EXPECT_EQ(allocator.stats().allocated_bytes, base);
    EXPECT_EQ(allocator.stats().allocated_peak, base + static_cast<int64_t>(transient));
    allocator.deallocate(result, 1000);
  }
}

TEST_P(CpuAllocator, RefusesWhatTheMachineCannotHave) {
  const AllocatorStats before = allocator.stats();
  for (size_t nbytes : {os_largest_allocation() + 1, size_t{1} << 48, SIZE_MAX}) {
    try {
      allocator.allocate(nbytes);
      FAIL() << "gave " << nbytes << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::OutOfMemory);
      EXPECT_EQ(error.message(),
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate " +
                    std::to_string(nbytes) + " bytes.");
    }
  }
  EXPECT_EQ(allocator.stats().allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(allocator.stats().num_os_allocs, before.num_os_allocs);
}

TEST_P(CpuAllocator, BlocksOfTwoThreadsNeverOverlap) {
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    struct Block {
      unsigned char* data;
      size_t nbytes;
      unsigned char mark;
    };
    std::vector<Block> live;
    bool is_intact = true;
    for (int step = 0; step < 4000; ++step) {
      if (live.size() < 40 || random() % 2) {
        const size_t nbytes = 1 + random() % (size_t{1} << (4 + random() % 19));
        const auto mark = static_cast<unsigned char>(random());
        auto* data = static_cast<unsigned char*>(allocator.allocate(nbytes));
        data[0] = data[nbytes / 2] = data[nbytes - 1] = mark;
        live.push_back({data, nbytes, mark});
      } else {
        std::swap(live[random() % live.size()], live.back());
        const Block block = live.back();
        live.pop_back();
        is_intact &= block.data[0] == block.mark && block.data[block.nbytes / 2] == block.mark &&
                     block.data[block.nbytes - 1] == block.mark;
        allocator.deallocate(block.data, block.nbytes);
      }
    }
    for (const Block& block : live) allocator.deallocate(block.data, block.nbytes);
    return is_intact;
  };
  const int64_t before = allocator.stats().allocated_bytes;
  std::atomic<bool> is_intact{true};
  std::thread other([&] {
    if (!work(1)) is_intact = false;
  });
  if (!work(2)) is_intact = false;
  other.join();
  EXPECT_TRUE(is_intact);
  EXPECT_EQ(allocator.stats().allocated_bytes, before);
}

TEST_P(CpuAllocator, FreesOnAnotherThread) {
  allocator.empty_cache();
  const AllocatorStats before = allocator.stats();
  for (int round = 0; round < 50; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 500; ++i) blocks.push_back(allocator.allocate(256));
    std::thread([&] {
      for (void* block : blocks) allocator.deallocate(block, 256);
    }).join();
  }
  EXPECT_EQ(allocator.stats().allocated_bytes, before.allocated_bytes);
  // 6 MiB passed through, 125 KiB at a time.
  EXPECT_LE(allocator.stats().reserved_bytes, before.reserved_bytes + static_cast<int64_t>(kMiB));
}

TEST_P(CpuAllocator, WorksInAForkedChild) {
  void* inherited = allocator.allocate(300);
  std::atomic<bool> is_done{false};
  std::thread busy([&] {
    while (!is_done) allocator.deallocate(allocator.allocate(2 * kMiB), 2 * kMiB);
  });
  int failures = 0;
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a child that waits for a lost lock dies
      for (size_t nbytes : {size_t{300}, size_t{50000}, 4 * kMiB})
        allocator.deallocate(std::memset(allocator.allocate(nbytes), 1, nbytes), nbytes);
      allocator.deallocate(inherited, 300);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    failures += status != 0;
  }
  is_done = true;
  busy.join();
  allocator.deallocate(inherited, 300);
  EXPECT_EQ(failures, 0);
}

TEST(CachingAllocator, ReusesWhatWasFreed) {
  Allocator& allocator = caching_cpu_allocator();
  for (size_t nbytes : {size_t{100}, size_t{5000}, size_t{300000}, 6 * kMiB}) {
    void* first = allocator.allocate(nbytes);
    allocator.deallocate(first, nbytes);
    const int64_t before = allocator.stats().num_os_allocs;
    void* second = allocator.allocate(nbytes);
    EXPECT_EQ(first, second) << nbytes;
    EXPECT_EQ(allocator.stats().num_os_allocs, before);
    allocator.deallocate(second, nbytes);
  }
}

TEST(CachingAllocator, EmptyCacheReturnsEverythingFree) {
  Allocator& allocator = caching_cpu_allocator();
  allocator.empty_cache();
  const int64_t before = allocator.stats().reserved_bytes;
  std::vector<std::pair<void*, size_t>> blocks;
  for (size_t nbytes = 64; nbytes < 16 * kMiB; nbytes = nbytes * 3 / 2)
    for (int i = 0; i < 5; ++i) blocks.emplace_back(allocator.allocate(nbytes), nbytes);
  EXPECT_GT(allocator.stats().reserved_bytes, before + static_cast<int64_t>(100 * kMiB));
  for (auto [data, nbytes] : blocks) allocator.deallocate(data, nbytes);
  allocator.empty_cache();
  EXPECT_LE(allocator.stats().reserved_bytes, before);
}

TEST(CachingAllocator, AThreadThatEndsReturnsItsCache) {
  Allocator& allocator = caching_cpu_allocator();
  allocator.empty_cache();
  const int64_t before = allocator.stats().reserved_bytes;
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      for (size_t nbytes = 64; nbytes <= kMiB; nbytes *= 2)
        allocator.deallocate(allocator.allocate(nbytes), nbytes);
    }).join();
  }
  allocator.empty_cache();
  EXPECT_LE(allocator.stats().reserved_bytes, before);
}

TEST(CachingAllocator, PeaksOfLargeBlocksOnTwoThreadsDoNotAdd) {
  Allocator& allocator = caching_cpu_allocator();
  allocator.reset_peak_stats();
  const int64_t base = allocator.stats().allocated_bytes;
  for (int i = 0; i < 3; ++i)
    std::thread([&] { allocator.deallocate(allocator.allocate(8 * kMiB), 8 * kMiB); }).join();
  EXPECT_EQ(allocator.stats().allocated_peak - base, static_cast<int64_t>(8 * kMiB));
}

TEST(SizeClass, HoldsTheRequestWithAtMostAQuarterMore) {
  for (size_t nbytes = 1; nbytes <= kMaxClassBytes; nbytes += 1 + nbytes / 97) {
    const size_t rounded = size_class_bytes(size_class(nbytes));
    ASSERT_GE(rounded, nbytes);
    ASSERT_EQ(rounded % kAllocatorAlignment, 0u);
    ASSERT_LE(rounded, std::max(nbytes + 63, nbytes + nbytes / 4)) << nbytes;
    if (size_class(nbytes) > 0) {
      ASSERT_LT(size_class_bytes(size_class(nbytes) - 1), nbytes);
    }
  }
}

TEST(PageHeap, SplitsAndMerges) {
  PageHeap heap(size_t{1} << 30);
  char* whole = static_cast<char*>(heap.allocate(12 * kMiB));
  heap.deallocate(whole);
  char* a = static_cast<char*>(heap.allocate(4 * kMiB));
  char* b = static_cast<char*>(heap.allocate(4 * kMiB));
  char* c = static_cast<char*>(heap.allocate(4 * kMiB));
  EXPECT_EQ(a, whole);
  EXPECT_EQ(b, whole + 4 * kMiB);
  EXPECT_EQ(c, whole + 8 * kMiB);
  heap.deallocate(a);
  heap.deallocate(c);
  heap.deallocate(b);
  EXPECT_EQ(heap.allocate(12 * kMiB), whole);
  EXPECT_EQ(heap.num_os_allocs(), 1);
}

TEST(PageHeap, TakesTheSmallestRunThatFits) {
  PageHeap heap(size_t{1} << 30);
  void* large = heap.allocate(20 * kMiB);
  void* small = heap.allocate(5 * kMiB);
  heap.deallocate(large);
  heap.deallocate(small);
  EXPECT_EQ(heap.allocate(4 * kMiB), small);
  EXPECT_EQ(heap.allocate(6 * kMiB), large);
}

TEST(PageHeap, KeepsNoMoreThanItsLimit) {
  PageHeap heap(10 * kMiB);
  void* a = heap.allocate(8 * kMiB);
  void* b = heap.allocate(8 * kMiB);
  heap.deallocate(a);
  EXPECT_EQ(heap.reserved_bytes(), 16 * kMiB);
  heap.deallocate(b);
  EXPECT_EQ(heap.reserved_bytes(), 8 * kMiB);
  EXPECT_EQ(heap.allocate(8 * kMiB), b);  // the older one went
}

TEST(PageHeap, PurgesInsideRegionsInUse) {
  PageHeap heap(2 * kMiB);
  heap.deallocate(heap.allocate(2 * kMiB));  // no more than the limit: stays
  EXPECT_EQ(heap.reserved_bytes(), 2 * kMiB);
  void* whole = heap.allocate(64 * kMiB);
  heap.deallocate(whole);  // more than the limit: goes
  EXPECT_EQ(heap.reserved_bytes(), 0u);

  PageHeap roomy(size_t{1} << 30);
  roomy.deallocate(roomy.allocate(64 * kMiB));
  char* piece = static_cast<char*>(roomy.allocate(4 * kMiB));
  std::memset(piece, 7, 4 * kMiB);
  EXPECT_EQ(roomy.reserved_bytes(), 64 * kMiB);
  roomy.release_free();
  EXPECT_EQ(roomy.reserved_bytes(), 4 * kMiB);
  EXPECT_EQ(piece[4 * kMiB - 1], 7);
  EXPECT_EQ(roomy.allocate(60 * kMiB), piece + 4 * kMiB);
  EXPECT_EQ(roomy.reserved_bytes(), 64 * kMiB);
}

TEST(PageHeap, GrowthGivesBackBeforeItTakes) {
  PageHeap heap(size_t{4} << 30);
  // Each size fits no earlier run, and only one is ever in use.
  size_t largest = 0;
  for (size_t nbytes = 64 * kMiB; nbytes < 700 * kMiB; nbytes += 64 * kMiB) {
    heap.deallocate(heap.allocate(nbytes));
    largest = nbytes;
  }
  EXPECT_LE(heap.reserved_peak(), largest + largest / 8 + 32 * kMiB);
}

TEST(PageHeap, AlignsInsideSharedRegions) {
  PageHeap heap(size_t{1} << 30);
  void* odd = heap.allocate(3 * kRunGranule);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(heap.allocate(kSlabBytes, kSlabBytes)) % kSlabBytes, 0u);
  // What was cut off in front is used for the next small request.
  EXPECT_EQ(heap.allocate(kRunGranule), static_cast<char*>(odd) + 3 * kRunGranule);
  EXPECT_EQ(heap.num_os_allocs(), 1);
}

}  // namespace
}  // namespace taeda
