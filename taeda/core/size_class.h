// Size classes of small CPU blocks: steps of 64 bytes up to 1 KiB, then four to a doubling up to 1
// MiB.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace taeda {

inline constexpr size_t kMaxClassBytes = size_t{1} << 20;
inline constexpr int kNumSizeClasses = 56;
// Classes up to kMaxSlabBytes share a slab; larger ones are runs of pages of their own.
inline constexpr size_t kSlabBytes = size_t{256} << 10;
inline constexpr size_t kMaxSlabBytes = size_t{16} << 10;
inline constexpr int kNumSlabClasses = 32;

// The class of a request; 1 <= nbytes <= kMaxClassBytes.
constexpr int size_class(size_t nbytes) {
  const size_t last = nbytes - 1;
  if (nbytes <= 1024) return static_cast<int>(last >> 6);
  const int log2 = std::bit_width(last) - 1;
  return 16 + (log2 - 10) * 4 + static_cast<int>((last >> (log2 - 2)) & 3);
}

constexpr size_t size_class_bytes(int index) {
  if (index < 16) return static_cast<size_t>(index + 1) << 6;
  const int log2 = 10 + (index - 16) / 4;
  return static_cast<size_t>(5 + (index - 16) % 4) << (log2 - 2);
}

// Blocks a thread keeps of one class: up to 128 KiB of them, but 2 at least and 128 at most.
constexpr uint32_t size_class_kept(int index) {
  return static_cast<uint32_t>(
      std::clamp<size_t>((size_t{128} << 10) / size_class_bytes(index), 2, 128));
}

static_assert(size_class(kMaxClassBytes) == kNumSizeClasses - 1);
static_assert(size_class_bytes(kNumSizeClasses - 1) == kMaxClassBytes);
static_assert(size_class(kMaxSlabBytes) == kNumSlabClasses - 1);

}  // namespace taeda
