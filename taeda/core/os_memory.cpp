// Linux's answers: mmap, madvise, sysinfo.
#include "taeda/core/os_memory.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace taeda {
namespace {

uintptr_t round_down(uintptr_t value, size_t multiple) { return value & ~(multiple - 1); }

// Calls madvise on the part of the range made of whole blocks of `granule` bytes.
bool advise(void* data, size_t nbytes, size_t granule, int advice) {
  const uintptr_t begin = round_up(reinterpret_cast<uintptr_t>(data), granule);
  const uintptr_t end = round_down(reinterpret_cast<uintptr_t>(data) + nbytes, granule);
  return end <= begin || madvise(reinterpret_cast<void*>(begin), end - begin, advice) == 0;
}

struct Memory {
  size_t physical, swap;
};
const Memory& memory() {
  static const Memory value = [] {
    struct sysinfo info = {};
    if (sysinfo(&info) != 0) return Memory{SIZE_MAX / 4, 0};
    return Memory{size_t{info.totalram} * info.mem_unit, size_t{info.totalswap} * info.mem_unit};
  }();
  return value;
}

}  // namespace

void* os_map(size_t nbytes, size_t alignment) noexcept {
  const size_t page = os_page_bytes();
  nbytes = round_up(nbytes, page);
  // Map too much, then unmap the ends outside the aligned range.
  const size_t slack = alignment > page ? alignment - page : 0;
  void* mapped =
      mmap(nullptr, nbytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = round_up(begin, alignment);
  if (aligned > begin) munmap(mapped, aligned - begin);
  const size_t tail = begin + slack - aligned;
  if (tail) munmap(reinterpret_cast<void*>(aligned + nbytes), tail);
  return reinterpret_cast<void*>(aligned);
}

void os_unmap(void* data, size_t nbytes) noexcept {
  munmap(data, round_up(nbytes, os_page_bytes()));
}

void os_advise_huge(void* data, size_t nbytes) noexcept {
  advise(data, nbytes, kHugePageBytes, MADV_HUGEPAGE);
}

bool os_purge(void* data, size_t nbytes) noexcept {
  return advise(data, nbytes, os_page_bytes(), MADV_DONTNEED);
}

size_t os_page_bytes() noexcept {
  static const size_t value = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return value;
}

size_t os_physical_bytes() noexcept { return memory().physical; }

size_t os_largest_allocation() noexcept {
  return std::min(memory().physical + memory().swap, size_t{1} << 47);
}

}  // namespace taeda
