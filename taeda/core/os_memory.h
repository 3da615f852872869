// Memory of the operating system for allocators: address ranges, their physical pages, and the
// total.
#pragma once

#include <cstddef>

#include "taeda/base/export.h"

namespace taeda {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// To a multiple of a power of two.
constexpr size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) & ~(multiple - 1);
}

// Fresh zero pages at a multiple of `alignment` (a power of two, at least a page); nullptr on
// failure.
void* os_map(size_t nbytes, size_t alignment) noexcept;
void os_unmap(void* data, size_t nbytes) noexcept;
// Asks for huge pages in the whole huge pages of the range.
void os_advise_huge(void* data, size_t nbytes) noexcept;
// Gives back the physical pages that lie wholly in the range; it reads as zeros afterwards. False
// if the OS kept them.
bool os_purge(void* data, size_t nbytes) noexcept;

size_t os_page_bytes() noexcept;
size_t os_physical_bytes() noexcept;
// The most a single allocation could ever have: physical memory and swap, within the address space.
TAEDA_API size_t os_largest_allocation() noexcept;

}  // namespace taeda
