// Stable sort along a dimension: radix sort of keys with their positions, comparison sort of short
// lines.
#pragma GCC optimize("O3")
#include <algorithm>
#include <cstring>
#include <memory>

#include "taeda/backends/cpu/reduce/lines.h"
#include "taeda/backends/cpu/reduce/sort_key.h"
#include "taeda/backends/cpu/scan_sort_declarations.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kShortLine = 256;

// A 32-bit key and a 32-bit position in one word: words compare as a stable sort wants.
struct PackedEntry {
  uint64_t word;
  using Key = uint32_t;
  static PackedEntry make(uint32_t key, int64_t index) {
    return {uint64_t{key} << 32 | static_cast<uint32_t>(index)};
  }
  uint32_t key() const { return static_cast<uint32_t>(word >> 32); }
  int64_t index() const { return static_cast<uint32_t>(word); }
  friend bool operator<(PackedEntry a, PackedEntry b) { return a.word < b.word; }
};
struct WideEntry {
  uint64_t wide_key;
  int64_t position;
  using Key = uint64_t;
  static WideEntry make(uint64_t key, int64_t index) { return {key, index}; }
  uint64_t key() const { return wide_key; }
  int64_t index() const { return position; }
  friend bool operator<(const WideEntry& a, const WideEntry& b) {
    return a.wide_key != b.wide_key ? a.wide_key < b.wide_key : a.position < b.position;
  }
};

// Byte by byte from the least; bytes that are the same everywhere cost a look at their histogram
// only. Returns where the result is: `entries` or `other`.
template <class Entry>
Entry* radix_sort(Entry* entries, Entry* other, int64_t n) {
  constexpr int kBytes = sizeof(typename Entry::Key);
  uint32_t small_counts[kBytes][256] = {};
  std::unique_ptr<int64_t[]> large_counts;
  if (n > int64_t{UINT32_MAX}) large_counts = std::make_unique<int64_t[]>(kBytes * 256);
  for (int64_t i = 0; i < n; ++i) {
    const auto key = entries[i].key();
    for (int b = 0; b < kBytes; ++b) {
      const int digit = key >> (8 * b) & 255;
      if (large_counts)
        ++large_counts[b * 256 + digit];
      else
        ++small_counts[b][digit];
    }
  }
  for (int b = 0; b < kBytes; ++b) {
    int64_t starts[256], sum = 0;
    bool is_trivial = false;
    for (int d = 0; d < 256; ++d) {
      const int64_t count = large_counts ? large_counts[b * 256 + d] : small_counts[b][d];
      is_trivial |= count == n;
      starts[d] = sum;
      sum += count;
    }
    if (is_trivial) continue;
    for (int64_t i = 0; i < n; ++i) {
      const Entry e = entries[i];
      other[starts[e.key() >> (8 * b) & 255]++] = e;
    }
    std::swap(entries, other);
  }
  return entries;
}

template <class T, class Entry>
void sort_line(const char* in, int64_t in_stride, int64_t n, bool is_descending, Entry* entries,
               Entry* other, T* kept, char* values, int64_t values_stride, char* indices,
               int64_t indices_stride) {
  const typename Entry::Key flip = is_descending ? ~typename Entry::Key(0) : 0;
  for (int64_t i = 0; i < n; ++i) {
    const T v = *reinterpret_cast<const T*>(in + i * in_stride);
    kept[i] = v;
    entries[i] = Entry::make(static_cast<typename Entry::Key>(sort_key(v)) ^ flip, i);
  }
  const Entry* sorted = entries;
  if (n <= kShortLine)
    std::sort(entries, entries + n);
  else
    sorted = radix_sort(entries, other, n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = sorted[i].index();
    *reinterpret_cast<T*>(values + i * values_stride) = kept[index];
    *reinterpret_cast<int64_t*>(indices + i * indices_stride) = index;
  }
}

template <class T, class Entry>
void sort_lines(const LineSpace& space, bool is_descending) {
  const int64_t n = space.length[0];
  for_panels(space, 1, 16 * n, [&](auto&& panels) {
    auto entries = std::make_unique_for_overwrite<Entry[]>(n);
    auto other = std::make_unique_for_overwrite<Entry[]>(n > kShortLine ? n : 0);
    auto kept = std::make_unique_for_overwrite<T[]>(n);
    panels([&](char* const* at, int64_t) {
      sort_line<T, Entry>(at[0], space.along[0], n, is_descending, entries.get(), other.get(),
                          kept.get(), at[1], space.along[1], at[2], space.along[2]);
    });
  });
}

}  // namespace

void sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending,
                 Tensor& values, Tensor& indices) {
  if (self.numel() == 0) return;
  const Tensor* const tensors[] = {&self, &values, &indices};
  const LineSpace space(tensors, wrap_dim(dim, self.dim()));
  visit_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same_v<T, Complex<float>> && !std::is_same_v<T, Complex<double>>) {
      if constexpr (sizeof(SortKey<T>) == 4) {
        if (space.length[0] <= int64_t{UINT32_MAX})
          return sort_lines<T, PackedEntry>(space, descending);
      }
      sort_lines<T, WideEntry>(space, descending);
    }
  });
}

}  // namespace taeda::cpu
