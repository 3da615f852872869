// Walks the lines of tensors along one dimension, several neighbouring lines at a time.
#pragma once

#include <algorithm>

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/base/parallel.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Operands agree in every size but that of `dim`. Strides are in bytes.
struct TAEDA_API LineSpace {
  static constexpr int kMaxOperands = 4;
  struct Outer {
    int64_t size, stride[kMaxOperands];
  };
  int num_operands = 0;
  char* base[kMaxOperands];
  int64_t length[kMaxOperands], along[kMaxOperands];
  SmallVector<Outer, 6> outer;  // innermost first, at least one
  int64_t count = 1;

  LineSpace(Span<const Tensor*> operands, int64_t dim);
  // The `index`-th line's start for each operand.
  void at(int64_t index, char** to) const;
};

// Calls f(starts, lines): `lines` neighbours in the innermost outer dimension, at most `max_lines`.
// `line_cost` is about the elements a line is worth to a thread.
template <class F>
void for_panels(const LineSpace& space, int64_t max_lines, int64_t line_cost, F&& f) {
  if (space.count == 0) return;
  const int64_t inner = space.outer[0].size, per_row = (inner + max_lines - 1) / max_lines;
  const int64_t panels = space.count / inner * per_row;
  const int64_t grain =
      std::max<int64_t>(1, 32768 / std::max<int64_t>(1, line_cost * std::min(max_lines, inner)));
  parallel_for(0, panels, grain, [&](int64_t first, int64_t last) {
    f([&](auto&& each) {
      char* to[LineSpace::kMaxOperands];
      for (int64_t p = first; p < last; ++p) {
        const int64_t begin = p % per_row * max_lines;
        space.at(p / per_row * inner + begin, to);
        each(to, std::min(max_lines, inner - begin));
      }
    });
  });
}

constexpr int64_t kPanelLines = 16;
// Lines a panel may have: one where lines are contiguous, more where neighbours share cache lines,
// but only as many as fit the second-level cache.
inline int64_t panel_lines(const LineSpace& space, int64_t item) {
  const int64_t n = std::max<int64_t>(space.length[0], 1);
  if (std::abs(space.along[0]) <= item) return std::clamp<int64_t>(4096 / n, 1, kPanelLines);
  return std::clamp<int64_t>((1 << 18) / (n * item), 1, kPanelLines);
}

// Reads lines into to[line][position], or writes them back. Where lines lie closer together than
// their elements, whole rows across the lines are moved and turned in a small buffer.
template <class T>
void load_lines(LoadFn load, const char* from, int64_t lines, int64_t n, int64_t line_stride,
                int64_t along, T* to) {
  if (lines == 1 || std::abs(along) <= std::abs(line_stride)) {
    load(from, Block{lines, n, line_stride, along}, reinterpret_cast<char*>(to));
    return;
  }
  constexpr int64_t kRows = 64;
  alignas(64) T rows[kRows * kPanelLines];
  for (int64_t i = 0; i < n; i += kRows) {
    const int64_t count = std::min(kRows, n - i);
    load(from + i * along, Block{count, lines, along, line_stride}, reinterpret_cast<char*>(rows));
    for (int64_t l = 0; l < lines; ++l)
      for (int64_t r = 0; r < count; ++r) to[l * n + i + r] = rows[r * lines + l];
  }
}

template <class T>
void store_lines(StoreFn store, const T* from, int64_t lines, int64_t n, int64_t line_stride,
                 int64_t along, char* to) {
  if (lines == 1 || std::abs(along) <= std::abs(line_stride)) {
    store(reinterpret_cast<const char*>(from), Block{lines, n, line_stride, along}, to);
    return;
  }
  constexpr int64_t kRows = 64;
  alignas(64) T rows[kRows * kPanelLines];
  for (int64_t i = 0; i < n; i += kRows) {
    const int64_t count = std::min(kRows, n - i);
    for (int64_t l = 0; l < lines; ++l)
      for (int64_t r = 0; r < count; ++r) rows[r * lines + l] = from[l * n + i + r];
    store(reinterpret_cast<const char*>(rows), Block{count, lines, along, line_stride},
          to + i * along);
  }
}

}  // namespace taeda::cpu
