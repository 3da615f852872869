// The block loops around the micro-kernel: columns, depth, rows, then tiles.
#include "taeda/backends/cpu/gemm/packed.h"

#include <algorithm>
#include <atomic>

#include "taeda/backends/cpu/gemm/scratch.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu::gemm_kernels {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// The size of equal blocks of at most `limit`, a multiple of `unit`, that cover `extent`.
int64_t balanced(int64_t extent, int64_t limit, int64_t unit) {
  return extent <= limit ? extent : round_up(ceil_div(extent, ceil_div(extent, limit)), unit);
}

// Sums of half types over several depth blocks stay in float between them, for this many rows of C.
constexpr int64_t kMaxSumRows = 2048;

// One depth block of the product: packed operands and what to do with their tiles.
template <class T>
struct Panels {
  using Acc = AccOf<T>;
  const PartOf<T>*a, *b;
  int64_t depth;
  bool is_first, is_last;
  Acc* sums;  // where sums wait for the last depth block, or null where C itself holds them
  int64_t sums_row_stride;
};

// All tiles of rows x cols of C, whose top left element is (0, 0) of `c` and of `panels.sums`.
template <class T>
void run_tiles(const Kernels<T>& kernels, const Panels<T>& panels, int64_t rows, int64_t cols,
               AccOf<T> alpha, AccOf<T> beta, Matrix<T> c, const T* bias) {
  using Acc = AccOf<T>;
  alignas(64) Acc tile[kMaxTile];
  const int mr = kernels.mr, nr = kernels.nr;
  const int64_t a_panel = panels.depth * mr * kParts<T>, b_panel = panels.depth * nr * kParts<T>;
  const Acc one(1), zero(0);
  if (!panels.is_first) beta = one;
  if (!panels.is_last) bias = nullptr;
  for (int64_t j = 0; j < cols; j += nr) {
    const int64_t tile_cols = std::min<int64_t>(nr, cols - j);
    const PartOf<T>* b = panels.b + j / nr * b_panel;
    for (int64_t i = 0; i < rows; i += mr) {
      const int64_t tile_rows = std::min<int64_t>(mr, rows - i);
      const PartOf<T>* a = panels.a + i / mr * a_panel;
      const Matrix<T> at{c.data + i * c.row_stride + j * c.col_stride, c.row_stride, c.col_stride};
      if constexpr (!std::is_same_v<T, Acc>) {
        if (panels.sums) {
          Acc* sum = panels.sums + i * panels.sums_row_stride + j;
          kernels.tile(panels.depth, a, b, one, panels.is_first ? zero : one, sum,
                       panels.sums_row_stride);
          continue;
        }
      } else if (tile_rows == mr && tile_cols == nr && c.col_stride == 1 && !bias) {
        kernels.tile(panels.depth, a, b, alpha, beta, at.data, c.row_stride);
        continue;
      }
      kernels.tile(panels.depth, a, b, one, zero, tile, nr);
      kernels.store(tile_rows, tile_cols, tile, nr, alpha, beta, at, bias ? bias + j : nullptr);
    }
  }
}

}  // namespace

template <class T>
void packed_product(const Kernels<T>& kernels, const Product<T>& p) {
  using Acc = AccOf<T>;
  using Part = PartOf<T>;
  const int mr = kernels.mr, nr = kernels.nr;
  const int64_t kc = balanced(p.k, kernels.kc, 1);
  const int64_t mc = balanced(p.m, kernels.mc, mr), nc = balanced(p.n, kernels.nc, nr);
  const bool needs_sums = !std::is_same_v<T, Acc> && p.k > kc;
  if (needs_sums && p.m > kMaxSumRows) {
    for (int64_t i = 0; i < p.m; i += kMaxSumRows)
      packed_product(kernels, p.block(i, std::min(kMaxSumRows, p.m - i), 0, p.n));
    return;
  }
  Part* a = scratch_array<Part>(Scratch::PanelA, packed_size<T>(mc, mr) * kc);
  Part* b = scratch_array<Part>(Scratch::PanelB, packed_size<T>(nc, nr) * kc);
  const int64_t sums_row_stride = round_up(nc, nr);
  Acc* sums = nullptr;
  if (needs_sums) sums = scratch_array<Acc>(Scratch::Sums, round_up(p.m, mr) * sums_row_stride);
  for (int64_t j = 0; j < p.n; j += nc) {
    const int64_t cols = std::min(nc, p.n - j);
    for (int64_t q = 0; q < p.k; q += kc) {
      const int64_t depth = std::min(kc, p.k - q);
      const Matrix<const T> b_block{p.b.data + q * p.b.row_stride + j * p.b.col_stride,
                                    p.b.row_stride, p.b.col_stride};
      pack_b(kernels, cols, depth, b_block, b);
      for (int64_t i = 0; i < p.m; i += mc) {
        const int64_t rows = std::min(mc, p.m - i);
        const Matrix<const T> a_block{p.a.data + i * p.a.row_stride + q * p.a.col_stride,
                                      p.a.row_stride, p.a.col_stride};
        pack_a(kernels, rows, depth, a_block, a);
        const Product<T> block = p.block(i, rows, j, cols);
        // Row blocks start at multiples of mr, and each row of sums is whole panels wide, so tiles
        // over the edge overwrite only what lies outside every block.
        const Panels<T> panels{a,
                               b,
                               depth,
                               q == 0,
                               q + depth == p.k,
                               sums ? sums + i * sums_row_stride : nullptr,
                               sums_row_stride};
        run_tiles(kernels, panels, rows, cols, p.alpha, p.beta, block.c, block.bias);
        if (sums && panels.is_last)
          kernels.store(rows, cols, panels.sums, sums_row_stride, p.alpha, p.beta, block.c,
                        block.bias);
      }
    }
  }
}

namespace {

// Below this many multiply-adds a thread is not worth waking.
constexpr double kWorkPerThread = 128.0 * 1024;
// From this many a thread on, there are more parts than threads, so that a thread on a busy core
// leaves some to the others; smaller parts would pack too much.
constexpr double kWorkToBalance = 64.0 * 1024 * 1024;
constexpr int64_t kPartsPerThread = 3;

// The split of C into row_parts x col_parts that packs least.
struct Grid {
  int64_t row_parts, col_parts;
};

Grid choose_grid(int64_t threads, int64_t m, int64_t n, int mr, int nr) {
  Grid best{1, 1};
  double best_cost = -1;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    const int64_t cols = threads / rows;
    const int64_t part_m = round_up(ceil_div(m, rows), mr),
                  part_n = round_up(ceil_div(n, cols), nr);
    // Multiply-adds of the largest part, and about 8 more for each packed element.
    const double cost = static_cast<double>(part_m) * part_n + 8.0 * (part_m + part_n);
    if (best_cost < 0 || cost < best_cost) {
      best_cost = cost;
      best = {rows, cols};
    }
  }
  return best;
}

}  // namespace

template <class T>
void parallel_product(const Kernels<T>& kernels, const Product<T>& p) {
  const double work = static_cast<double>(p.m) * p.n * p.k;
  const double useful = std::min<double>(work / kWorkPerThread, 1024);
  int64_t threads = 1;
  if (useful >= 2 && !in_parallel_region())
    threads = std::min<int64_t>(num_threads(), static_cast<int64_t>(useful));
  if (threads <= 1) return packed_product(kernels, p);
  const bool balances = work / static_cast<double>(threads) >= kWorkToBalance;
  const Grid grid =
      choose_grid(balances ? kPartsPerThread * threads : threads, p.m, p.n, kernels.mr, kernels.nr);
  const int64_t rows = round_up(ceil_div(p.m, grid.row_parts), kernels.mr);
  const int64_t cols = round_up(ceil_div(p.n, grid.col_parts), kernels.nr);
  const int64_t row_parts = ceil_div(p.m, rows), col_parts = ceil_div(p.n, cols);
  const int64_t parts = row_parts * col_parts;
  std::atomic<int64_t> next{0};
  parallel_for(0, std::min(threads, parts), 1, [&](int64_t, int64_t) {
    for (int64_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) < parts;) {
      const int64_t i = part / col_parts * rows, j = part % col_parts * cols;
      packed_product(kernels, p.block(i, std::min(rows, p.m - i), j, std::min(cols, p.n - j)));
    }
  });
}

#define TAEDA_GEMM_INSTANTIATE(T)                                     \
  template void packed_product(const Kernels<T>&, const Product<T>&); \
  template void parallel_product(const Kernels<T>&, const Product<T>&);
TAEDA_GEMM_INSTANTIATE(float)
TAEDA_GEMM_INSTANTIATE(double)
TAEDA_GEMM_INSTANTIATE(Half)
TAEDA_GEMM_INSTANTIATE(BFloat16)
TAEDA_GEMM_INSTANTIATE(Complex<float>)
TAEDA_GEMM_INSTANTIATE(Complex<double>)
TAEDA_GEMM_INSTANTIATE(uint64_t)
TAEDA_GEMM_INSTANTIATE(uint32_t)
TAEDA_GEMM_INSTANTIATE(uint16_t)
TAEDA_GEMM_INSTANTIATE(uint8_t)
#undef TAEDA_GEMM_INSTANTIATE

}  // namespace taeda::cpu::gemm_kernels
