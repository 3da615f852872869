// Orders and merges the dimensions of a reduction, and walks its reduced space.
#include "taeda/backends/cpu/reduce/reduce_shape.h"

#include <algorithm>
#include <cstring>

#include "taeda/backends/cpu/reduce/line_kernels.h"

namespace taeda::cpu {
namespace {

// Zero strides go outermost: they cost nothing to step over.
bool is_inner(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return a != 0;
  return std::abs(a) < std::abs(b);
}

template <class Dims>
void sort_by_stride(Dims& dims) {
  for (size_t i = 1; i < dims.size(); ++i)
    for (size_t j = i; j > 0 && is_inner(dims[j].in, dims[j - 1].in); --j)
      std::swap(dims[j], dims[j - 1]);
}

template <int kBytes>
void turn(const char* from, int64_t pitch, int64_t rows, int64_t cols, char* to, int64_t to_pitch) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      std::memcpy(to + r * to_pitch + c * kBytes, from + c * pitch + r * kBytes, kBytes);
}
TurnFn turn_fn(int64_t item) {
  switch (item) {
    case 1: return &turn<1>;
    case 4: return line_kernels().turn_4;
    case 8: return line_kernels().turn_8;
    default: return &turn<16>;
  }
}

}  // namespace

ReduceShape::ReduceShape(const Tensor& self, uint64_t bits, bool keepdim,
                         Span<const Tensor*> outs) {
  const IntList sizes = self.sizes(), strides = self.strides();
  const int64_t item = self.element_size();
  SmallVector<Kept, 6> own_kept;
  SmallVector<Reduced, 6> own_reduced;
  // From the last dimension to the first.
  int64_t out_dim = outs.empty() ? 0 : outs[0]->dim();
  for (int64_t d = self.dim() - 1; d >= 0; --d) {
    if (bits >> d & 1) {
      out_dim -= keepdim;
      num_reduced *= sizes[d];
      if (sizes[d] != 1) own_reduced.push_back({sizes[d], strides[d] * item});
      continue;
    }
    --out_dim;
    num_outputs *= sizes[d];
    if (sizes[d] == 1) continue;
    Kept k{sizes[d], strides[d] * item, {0, 0}};
    for (size_t i = 0; i < outs.size(); ++i)
      k.out[i] = outs[i]->strides()[out_dim] * outs[i]->element_size();
    own_kept.push_back(k);
  }
  sort_by_stride(own_kept);
  for (const Kept& k : own_kept) {
    if (!kept.empty()) {
      Kept& last = kept.back();
      if (k.in == last.in * last.size && k.out[0] == last.out[0] * last.size &&
          k.out[1] == last.out[1] * last.size) {
        last.size *= k.size;
        continue;
      }
    }
    kept.push_back(k);
  }
  for (const Reduced& r : own_reduced) {
    if (!reduced.empty() && r.in == reduced.back().in * reduced.back().size)
      reduced.back().size *= r.size;
    else
      reduced.push_back(r);
  }
  if (reduced.empty()) reduced.push_back({num_reduced, item});
}

bool ReduceShape::is_kept_inner() const {
  if (kept.empty() || num_reduced <= 1) return false;
  if (reduced.size() == 1 && reduced[0].in == 0) return true;
  // Either side may have an order of its own, so the least stride counts.
  int64_t least = reduced[0].in;
  for (const Reduced& r : reduced)
    if (is_inner(r.in, least)) least = r.in;
  return kept[0].in != 0 && is_inner(kept[0].in, least);
}

const char* ReduceShape::output_at(const char* in, char* const* out, int64_t index,
                                   char** out_at) const {
  out_at[0] = out[0];
  out_at[1] = out[1];
  for (size_t d = 0; d < kept.size(); ++d) {
    int64_t i = index;
    if (d + 1 < kept.size()) {
      i = index % kept[d].size;
      index /= kept[d].size;
    }
    in += i * kept[d].in;
    out_at[0] += i * kept[d].out[0];
    out_at[1] += i * kept[d].out[1];
  }
  return in;
}

// Whole rows of the two innermost dimensions, where neighbours in memory lie in different rows.
// Blocks are read along memory and turned.
void ReduceShape::fill_turned(const TileSource& source, const char* at, int64_t rows, char* tile,
                              int64_t tile_item) const {
  constexpr int64_t kRows = 64, kCols = 64;
  alignas(64) char block[kRows * kCols * 16];
  const TurnFn turn_block = turn_fn(tile_item);
  const int64_t length = reduced[0].size, row_stride = reduced[1].in, col_stride = reduced[0].in;
  const bool is_plain = source.is_direct && row_stride == tile_item;
  for (int64_t r = 0; r < rows; r += kRows) {
    const int64_t count = std::min(kRows, rows - r);
    for (int64_t c = 0; c < length; c += kCols) {
      const int64_t cols = std::min(kCols, length - c);
      const char* const from = at + r * row_stride + c * col_stride;
      // The next columns lie too far away for the memory's own prefetching.
      for (int64_t k = cols; k < std::min(cols + kCols, length - c); ++k)
        for (int64_t b = 0; b < count * row_stride; b += 64)
          __builtin_prefetch(from + k * col_stride + b, 0, 2);
      if (!is_plain) source.load(from, Block{cols, count, col_stride, row_stride}, block);
      turn_block(is_plain ? from : block, is_plain ? col_stride : count * tile_item, count, cols,
                 tile + (r * length + c) * tile_item, length * tile_item);
    }
  }
}

void ReduceShape::fill(const TileSource& source, const char* in, int64_t first, int64_t n,
                       char* tile, int64_t tile_item) const {
  while (n > 0) {
    // Coordinates of `first`, then as much of the two innermost dimensions as is rectangular.
    const char* at = in;
    int64_t rest = first / reduced[0].size, row = 0;
    const int64_t col = first % reduced[0].size;
    for (size_t d = 1; d < reduced.size(); ++d) {
      const int64_t i = rest % reduced[d].size;
      rest /= reduced[d].size;
      at += i * reduced[d].in;
      if (d == 1) row = i;
    }
    at += col * reduced[0].in;
    int64_t rows = 1, cols = std::min(n, reduced[0].size - col), row_stride = 0;
    if (col == 0 && reduced.size() > 1 && n >= 2 * reduced[0].size) {
      rows = std::min(n / reduced[0].size, reduced[1].size - row);
      row_stride = reduced[1].in;
    }
    if (rows > 1 && is_turned())
      fill_turned(source, at, rows, tile, tile_item);
    else
      source.load(at, Block{rows, cols, row_stride, reduced[0].in}, tile);
    first += rows * cols;
    n -= rows * cols;
    tile += rows * cols * tile_item;
  }
}

}  // namespace taeda::cpu
