// Orders and merges the dimensions of a reduction, and walks its reduced space.
#include "taeda/backends/cpu/reduce/reduce_shape.h"

#include <algorithm>
#include <cstring>

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

// Columns begin .. end of a row of a block whose columns lie `pitch` bytes apart.
template <int kBytes>
void turn_row(const char* row, int64_t pitch, int64_t begin, int64_t end, char* to) {
  for (int64_t c = begin; c < end; ++c, to += kBytes) std::memcpy(to, row + c * pitch, kBytes);
}

typedef uint32_t Four __attribute__((vector_size(16)));
Four load_four(const char* p) {
  Four v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
// Four neighbouring rows of 4-byte elements, `to_pitch` bytes apart at `to`. Returns the number of
// columns that are done, a multiple of four.
int64_t turn_four(const char* row, int64_t pitch, int64_t cols, char* to, int64_t to_pitch) {
  int64_t c = 0;
  for (; c + 4 <= cols; c += 4, row += 4 * pitch, to += 16) {
    const Four a = load_four(row), b = load_four(row + pitch), d = load_four(row + 2 * pitch),
               e = load_four(row + 3 * pitch);
    const Four low = __builtin_shuffle(a, d, Four{0, 4, 1, 5}),
               high = __builtin_shuffle(a, d, Four{2, 6, 3, 7}),
               low_odd = __builtin_shuffle(b, e, Four{0, 4, 1, 5}),
               high_odd = __builtin_shuffle(b, e, Four{2, 6, 3, 7});
    const Four out[4] = {__builtin_shuffle(low, low_odd, Four{0, 4, 1, 5}),
                         __builtin_shuffle(low, low_odd, Four{2, 6, 3, 7}),
                         __builtin_shuffle(high, high_odd, Four{0, 4, 1, 5}),
                         __builtin_shuffle(high, high_odd, Four{2, 6, 3, 7})};
    for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_pitch, &out[i], sizeof(Four));
  }
  return c;
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

// The two innermost dimensions from (row, col) on, at most n elements, where neighbours in memory
// lie in different rows. Blocks are read along memory and turned.
int64_t ReduceShape::fill_turned(const TileSource& source, const char* at, int64_t row, int64_t col,
                                 int64_t n, char* tile, int64_t tile_item) const {
  constexpr int64_t kRows = 64, kCols = 64;
  alignas(64) char block[kRows * kCols * 16];
  const auto turn = tile_item == 1   ? &turn_row<1>
                    : tile_item == 4 ? &turn_row<4>
                    : tile_item == 8 ? &turn_row<8>
                                     : &turn_row<16>;
  const int64_t length = reduced[0].size, first = row * length + col;
  const int64_t last = std::min(first + n, reduced[1].size * length);
  const int64_t end_row = (last + length - 1) / length;
  for (int64_t r = row; r < end_row; r += kRows) {
    const int64_t rows = std::min(kRows, end_row - r);
    for (int64_t c = 0; c < length; c += kCols) {
      const int64_t cols = std::min(kCols, length - c);
      const char* from = at + r * reduced[1].in + c * reduced[0].in;
      // The next columns lie too far away for the memory's own prefetching.
      for (int64_t k = cols; k < std::min(cols + kCols, length - c); ++k)
        for (int64_t b = 0; b < rows * reduced[1].in; b += 64)
          __builtin_prefetch(from + k * reduced[0].in + b, 0, 2);
      source.load(from, Block{cols, rows, reduced[0].in, reduced[1].in}, block);
      from = block;
      const int64_t pitch = rows * tile_item;
      for (int64_t i = 0; i < rows; from += tile_item) {
        const int64_t start = (r + i) * length + c;
        char* const to = tile + (start - first) * tile_item;
        if (tile_item == 4 && i + 4 <= rows && start >= first &&
            start + 3 * length + cols <= last) {
          const int64_t done = turn_four(from, pitch, cols, to, length * 4);
          for (int64_t k = 0; k < 4; ++k)
            turn(from + k * 4, pitch, done, cols, to + (k * length + done) * 4);
          i += 4;
          from += 12;
          continue;
        }
        // The first and the last row may be wanted in part.
        const int64_t begin = std::max<int64_t>(first - start, 0);
        turn(from, pitch, begin, std::min(cols, last - start), to + begin * tile_item);
        ++i;
      }
    }
  }
  return last - first;
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
    if (is_turned() && n >= 2 * reduced[0].size) {
      const int64_t done =
          fill_turned(source, at - row * reduced[1].in, row, col, n, tile, tile_item);
      first += done;
      n -= done;
      tile += done * tile_item;
      continue;
    }
    at += col * reduced[0].in;
    int64_t rows = 1, cols = std::min(n, reduced[0].size - col), row_stride = 0;
    if (col == 0 && reduced.size() > 1 && n >= 2 * reduced[0].size) {
      rows = std::min(n / reduced[0].size, reduced[1].size - row);
      row_stride = reduced[1].in;
    }
    source.load(at, Block{rows, cols, row_stride, reduced[0].in}, tile);
    first += rows * cols;
    n -= rows * cols;
    tile += rows * cols * tile_item;
  }
}

}  // namespace taeda::cpu
