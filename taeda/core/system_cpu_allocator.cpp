// CPU memory straight from malloc, each block of its exact size, so that memory checkers see its
// edges.
#include "taeda/core/cpu_allocator.h"
#include "taeda/core/os_memory.h"

#include <atomic>
#include <cstdlib>

namespace taeda {
namespace {

// Counters are atomic rather than locked: nothing to hold while the process forks.
class SystemAllocator final : public Allocator {
 public:
  void* allocate(size_t nbytes) override {
    if (nbytes == 0) return nullptr;
    void* data = nullptr;
    if (nbytes > os_largest_allocation() || posix_memalign(&data, kAllocatorAlignment, nbytes) != 0)
      throw_cpu_out_of_memory(nbytes);
    const int64_t now =
        allocated_.fetch_add(static_cast<int64_t>(nbytes)) + static_cast<int64_t>(nbytes);
    for (int64_t peak = peak_; now > peak && !peak_.compare_exchange_weak(peak, now);) continue;
    ++num_allocs_;
    return data;
  }

  void deallocate(void* data, size_t nbytes) noexcept override {
    if (!data) return;
    std::free(data);
    allocated_ -= static_cast<int64_t>(nbytes);
    ++num_frees_;
  }

  AllocatorStats stats() const override {
    AllocatorStats stats;
    stats.allocated_bytes = stats.reserved_bytes = allocated_;
    stats.allocated_peak = stats.reserved_peak = peak_;
    stats.num_allocs = stats.num_os_allocs = num_allocs_;
    stats.num_frees = num_frees_;
    return stats;
  }

  void reset_peak_stats() override { peak_ = allocated_.load(); }

 private:
  std::atomic<int64_t> allocated_{0}, peak_{0}, num_allocs_{0}, num_frees_{0};
};

}  // namespace

Allocator& system_cpu_allocator() {
  static Allocator& allocator = *new SystemAllocator;
  return allocator;
}

}  // namespace taeda
