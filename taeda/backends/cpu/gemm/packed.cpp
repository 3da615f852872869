// The block loops around the micro-kernel: columns, depth, rows, then tiles.
#include "taeda/backends/cpu/gemm/packed.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

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

// One depth block of the product: packed operands, and where the sums of their tiles are held.
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
  // While one panel of B is in use, each of its tiles fetches a piece of the next.
  const int64_t b_lines = b_panel * static_cast<int64_t>(sizeof(PartOf<T>)) / 64;
  const int64_t piece = ceil_div(b_lines, ceil_div(rows, mr));
  for (int64_t j = 0; j < cols; j += nr) {
    const int64_t tile_cols = std::min<int64_t>(nr, cols - j);
    const PartOf<T>* b = panels.b + j / nr * b_panel;
    Ahead ahead{b + b_panel, j + nr < cols ? piece : 0};
    for (int64_t i = 0; i < rows; i += mr) {
      const int64_t tile_rows = std::min<int64_t>(mr, rows - i);
      if (i > 0) ahead.data = static_cast<const char*>(ahead.data) + 64 * ahead.lines;
      const auto compute = kernels.tile_for(tile_rows);
      const PartOf<T>* a = panels.a + i / mr * a_panel;
      const Matrix<T> at{c.data + i * c.row_stride + j * c.col_stride, c.row_stride, c.col_stride};
      if constexpr (!std::is_same_v<T, Acc>) {
        if (panels.sums) {
          Acc* sum = panels.sums + i * panels.sums_row_stride + j;
          compute(panels.depth, a, b, one, panels.is_first ? zero : one, sum,
                  panels.sums_row_stride, ahead);
          continue;
        }
      } else if (tile_rows == mr && tile_cols == nr && c.col_stride == 1 && !bias) {
        compute(panels.depth, a, b, alpha, beta, at.data, c.row_stride, ahead);
        continue;
      }
      compute(panels.depth, a, b, one, zero, tile, nr, ahead);
      kernels.store(tile_rows, tile_cols, tile, nr, alpha, beta, at, bias ? bias + j : nullptr);
    }
  }
}

// One operand's part of a chunk, packed: depth blocks of kc steps one after another, each made of
// whole panels.
template <class T>
struct Packed {
  Matrix<const T> from;  // element (lane, step of depth)
  Fill fill;             // in place of `from`, as matrix (lane, step) or (step, lane)
  bool are_lanes_rows;
  int64_t lanes, depth, kc;
  int width;
  PartOf<T>* data;
  // Where the panels are those of a larger operand: its lanes, and the first one of the part.
  int64_t all_lanes = lanes, first_lane = 0;

  // The panels from `lane` on, a multiple of the width, in the depth block that starts at `q`.
  PartOf<T>* at(int64_t lane, int64_t q) const {
    return data + q * packed_size<T>(all_lanes, width) +
           (first_lane + lane) * block_depth(q) * kParts<T>;
  }
  int64_t block_depth(int64_t q) const { return std::min(kc, depth - q); }

  // Packing a depth block is cut into units of some panels.
  int64_t units() const { return ceil_div(lanes, unit_lanes()); }
  void pack(const Kernels<T>& kernels, int64_t unit, int64_t q) const {
    const int64_t lane = unit * unit_lanes();
    const int64_t count = std::min(unit_lanes(), lanes - lane), steps = block_depth(q);
    const Matrix<const T> block =
        fill.block ? filled(lane, count, q, steps)
                   : Matrix<const T>{from.data + lane * from.row_stride + q * from.col_stride,
                                     from.row_stride, from.col_stride};
    kernels.pack(count, steps, block.data, block.row_stride, block.col_stride, width, at(lane, q));
  }

 private:
  // Adjacent lanes are read in runs of some panels; lanes along the depth need no neighbours.
  int64_t unit_lanes() const { return (from.row_stride == 1 ? 4 : 2) * width; }

  // A block of lanes as the caller writes it, in memory of this thread.
  Matrix<const T> filled(int64_t lane, int64_t count, int64_t q, int64_t steps) const {
    T* to = scratch_array<T>(Scratch::Filled, count * steps);
    const Fill at = are_lanes_rows ? fill.from(lane, q) : fill.from(q, lane);
    if (are_lanes_rows)
      fill.block->write(at.row, count, at.col, steps, to);
    else
      fill.block->write(at.row, steps, at.col, count, to);
    const bool is_lane_dense = are_lanes_rows == fill.block->is_by_columns;
    return is_lane_dense ? Matrix<const T>{to, 1, count} : Matrix<const T>{to, steps, 1};
  }
};

// Calls body(task) for every task, on `threads` threads that take the next task when they are done
// with one: a thread on a busy core leaves more to the others.
void share(int64_t threads, int64_t tasks, FunctionRef<void(int64_t)> body) {
  std::atomic<int64_t> next{0};
  const auto take = [&](int64_t, int64_t) {
    for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) body(task);
  };
  if (threads <= 1) return take(0, 0);
  parallel_for(0, std::min(threads, tasks), 1, take);
}

// Below this many multiply-adds a thread is not worth waking.
constexpr double kWorkPerThread = 128.0 * 1024;

template <class T>
int64_t useful_threads(const Product<T>& p) {
  const double useful = static_cast<double>(p.m) * p.n * p.k / kWorkPerThread;
  if (useful < 2 || in_parallel_region()) return 1;
  return std::min<int64_t>(num_threads(), static_cast<int64_t>(std::min(useful, 1024.0)));
}

// The part of the product that one schedule covers. One thread packs as much as its caches hold;
// several share a chunk in which each operand takes at most this many bytes.
constexpr int64_t kSharedBytes = int64_t{32} << 20;

struct Chunk {
  int64_t rows, cols, depth;
};

template <class T>
Chunk choose_chunk(const Kernels<T>& kernels, const Product<T>& p, int64_t kc, int64_t threads) {
  const int64_t cols = balanced(p.n, kernels.nc, kernels.nr);
  if (threads <= 1) return {balanced(p.m, kernels.mc, kernels.mr), cols, kc};
  const int64_t parts = kSharedBytes / static_cast<int64_t>(sizeof(PartOf<T>) * kParts<T>);
  const int64_t depth = std::max<int64_t>(parts / (cols * kc), 1) * kc;
  const int64_t rows = std::max(parts / std::min(depth, p.k), kernels.mc);
  return {balanced(p.m, rows, kernels.mr), cols, std::min(depth, p.k)};
}

// The cut of rows x cols of C into tasks, at tiles.
struct Grid {
  int64_t rows, cols;  // of one task
  int64_t col_tasks, tasks;

  int64_t first_row(int64_t task) const { return task / col_tasks * rows; }
  int64_t first_col(int64_t task) const { return task % col_tasks * cols; }
};

template <class T>
Grid choose_grid(const Kernels<T>& kernels, int64_t wanted, int64_t m, int64_t n) {
  Grid best{};
  double best_cost = -1;
  for (int64_t row_tasks = 1; row_tasks <= wanted; ++row_tasks) {
    const int64_t rows = round_up(ceil_div(m, row_tasks), kernels.mr);
    const int64_t cols = round_up(ceil_div(n, wanted / row_tasks), kernels.nr);
    // Multiply-adds of the largest task per step of depth, and the elements it reads for them.
    const double cost = static_cast<double>(rows) * cols + 8.0 * (rows + cols);
    if (best_cost >= 0 && cost >= best_cost) continue;
    best_cost = cost;
    best = {rows, cols, ceil_div(n, cols), ceil_div(m, rows) * ceil_div(n, cols)};
  }
  return best;
}

// From this many multiply-adds a thread on, threads pack together and share more tasks than they
// are; below, waiting for each other costs more than packing some panels twice.
constexpr double kWorkToShare = 16.0 * 1024 * 1024;
constexpr int64_t kTasksPerThread = 4;

// Where sums of half types wait between depth blocks; no rows where C itself holds them.
template <class T>
struct Sums {
  AccOf<T>* data = nullptr;
  int64_t row_stride = 0;
};
constexpr int64_t kMaxSumRows = 2048;

// Columns that are finished at a time: their elements stay in the cache next to the core's own
// until the caller has seen them.
constexpr int64_t kFinishBytes = 128 << 10;

template <class T>
int64_t finished_cols(const Kernels<T>& kernels, const Product<T>& p, int64_t rows, int64_t cols) {
  if (!p.finish.block) return cols;
  const int64_t fitting = kFinishBytes / (rows * static_cast<int64_t>(sizeof(T)));
  return std::max<int64_t>(fitting / kernels.nr, 1) * kernels.nr;
}

// One depth block of the packed operands for one task of the grid. `p` is the chunk of the product,
// `q` where in the chunk the block starts, `first_q` where in the whole depth the chunk does, and
// `k` the whole depth.
template <class T>
void run_task(const Kernels<T>& kernels, const Packed<T>& a, const Packed<T>& b,
              const Product<T>& p, const Grid& grid, int64_t task, int64_t q, int64_t first_q,
              int64_t k, Sums<T> sums) {
  const int64_t i0 = grid.first_row(task), j = grid.first_col(task);
  const int64_t all_rows = std::min(grid.rows, p.m - i0), cols = std::min(grid.cols, p.n - j);
  const int64_t mc = balanced(all_rows, kernels.mc, kernels.mr);
  const int64_t depth = a.block_depth(q);
  const bool is_first = first_q + q == 0, is_last = first_q + q + depth == k;
  for (int64_t i = i0; i < i0 + all_rows; i += mc) {
    const int64_t rows = std::min(mc, i0 + all_rows - i);
    const int64_t width = is_last ? finished_cols(kernels, p, rows, cols) : cols;
    for (int64_t s = j; s < j + cols; s += width) {
      const int64_t strip = std::min(width, j + cols - s);
      const Product<T> block = p.block(i, rows, s, strip);
      // Tasks, row blocks and strips start at tiles, and each row of sums is whole panels wide, so
      // tiles over the edge overwrite only memory outside every block.
      const Panels<T> panels{
          a.at(i, q),     b.at(s, q), depth,
          is_first,       is_last,    sums.data ? sums.data + i * sums.row_stride + s : nullptr,
          sums.row_stride};
      run_tiles(kernels, panels, rows, strip, p.alpha, p.beta, block.c, block.bias);
      if (!is_last) continue;
      if (sums.data)
        kernels.store(rows, strip, panels.sums, sums.row_stride, p.alpha, p.beta, block.c,
                      block.bias);
      block.finish(rows, strip);
    }
  }
}

// The order in which threads take the work of a chunk: the panels of the first depth block, then
// the tiles of each block with the panels of the next one strewn among them. Packing waits for
// memory and tiles for arithmetic, so side by side they cost little more than the tiles alone.
struct Schedule {
  int64_t blocks, units, tasks;  // depth blocks; of each block: units to pack, tasks of tiles

  struct Item {
    bool is_pack;
    int64_t block, index;
  };

  int64_t size() const { return blocks * (units + tasks); }
  Item item(int64_t at) const {
    if (at < units) return {true, 0, at};
    const int64_t both = units + tasks;
    const int64_t block = (at - units) / both, slot = (at - units) % both;
    if (block + 1 == blocks) return {false, block, slot};
    const int64_t packs = slot * units / both;  // before this slot
    const bool is_pack = (slot + 1) * units / both > packs;
    return is_pack ? Item{true, block + 1, packs} : Item{false, block, slot - packs};
  }
};

// The progress of a chunk. An item waits only for items before it in the schedule, which some
// thread has already taken, so every wait ends.
class Progress {
 public:
  explicit Progress(const Schedule& schedule)
      : units_(schedule.units), packed_(schedule.blocks), done_(schedule.tasks) {}

  // Until the item's panels are packed and its tiles hold the sums of all depth blocks before it.
  void wait_for(const Schedule::Item& item) const {
    if (item.is_pack) return;
    wait_until(packed_[item.block], units_);
    wait_until(done_[item.index], item.block);
  }
  void finish(const Schedule::Item& item) {
    auto& counter = item.is_pack ? packed_[item.block] : done_[item.index];
    counter.fetch_add(1, std::memory_order_release);
  }

 private:
  static void wait_until(const std::atomic<int64_t>& counter, int64_t value) {
    constexpr int kSpins = 1000;
    for (int spin = 0; counter.load(std::memory_order_acquire) < value;)
      if (++spin > kSpins) std::this_thread::yield();
  }

  int64_t units_;
  std::vector<std::atomic<int64_t>> packed_, done_;
};

void run_schedule(const Schedule& schedule, int64_t threads,
                  FunctionRef<void(const Schedule::Item&)> work) {
  if (threads <= 1) {
    for (int64_t at = 0; at < schedule.size(); ++at) work(schedule.item(at));
    return;
  }
  Progress progress(schedule);
  share(threads, schedule.size(), [&](int64_t at) {
    const Schedule::Item item = schedule.item(at);
    progress.wait_for(item);
    work(item);
    progress.finish(item);
  });
}

// All panels of a B that is kept. Rows of B are where a product has them, so `p` may be a block.
template <class T>
PartOf<T>* kept_panels(const Kernels<T>& kernels, const Product<T>& p, int64_t kc) {
  const KeptPanels& kept = p.kept_b;
  const int64_t parts = packed_size<T>(kept.lanes, kernels.nr) * kept.depth;
  const void* data =
      kept.matrix->panels(parts * static_cast<int64_t>(sizeof(PartOf<T>)), [&](void* made) {
        const Matrix<const T> lanes{p.b.data - kept.col * p.b.col_stride, p.b.col_stride,
                                    p.b.row_stride};
        const Packed<T> all{lanes,      {}, false,      kept.lanes,
                            kept.depth, kc, kernels.nr, static_cast<PartOf<T>*>(made)};
        const int64_t units = all.units(), blocks = ceil_div(kept.depth, kc);
        parallel_for(0, units * blocks, 1, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) all.pack(kernels, i % units, i / units * kc);
        });
      });
  return static_cast<PartOf<T>*>(const_cast<void*>(data));
}

// The product on `threads` threads, which meet after each chunk.
template <class T>
void run_product(const Kernels<T>& kernels, const Product<T>& p, int64_t threads) {
  using Part = PartOf<T>;
  const int mr = kernels.mr, nr = kernels.nr;
  const int64_t kc = balanced(p.k, kernels.kc, 1);
  const bool needs_sums = !std::is_same_v<T, AccOf<T>> && p.k > kc;
  if (needs_sums && p.m > kMaxSumRows) {
    for (int64_t i = 0; i < p.m; i += kMaxSumRows)
      run_product(kernels, p.block(i, std::min(kMaxSumRows, p.m - i), 0, p.n), threads);
    return;
  }
  const Chunk chunk = choose_chunk(kernels, p, kc, threads);
  Part* a_data = scratch_array<Part>(Scratch::PanelA, packed_size<T>(chunk.rows, mr) * chunk.depth);
  const KeptPanels& kept = p.kept_b;
  Part* b_data = kept.matrix ? kept_panels(kernels, p, kc)
                             : scratch_array<Part>(Scratch::PanelB,
                                                   packed_size<T>(chunk.cols, nr) * chunk.depth);
  Sums<T> sums;
  if (needs_sums) {
    sums.row_stride = round_up(chunk.cols, nr);
    sums.data = scratch_array<AccOf<T>>(Scratch::Sums, round_up(p.m, mr) * sums.row_stride);
  }
  for (int64_t j = 0; j < p.n; j += chunk.cols)
    for (int64_t q = 0; q < p.k; q += chunk.depth)
      for (int64_t i = 0; i < p.m; i += chunk.rows) {
        Product<T> part =
            p.block(i, std::min(chunk.rows, p.m - i), j, std::min(chunk.cols, p.n - j));
        part.k = std::min(chunk.depth, p.k - q);
        if (!p.fill_a.block) part.a.data += q * p.a.col_stride;
        if (!p.fill_b.block) part.b.data += q * p.b.row_stride;
        const Packed<T> a{part.a, part.fill_a.from(0, q), true, part.m, part.k, kc, mr, a_data};
        const Matrix<const T> b_lanes{part.b.data, part.b.col_stride, part.b.row_stride};
        Packed<T> b{b_lanes, part.fill_b.from(q, 0), false, part.n, part.k, kc, nr, b_data};
        if (kept.matrix) {
          b.all_lanes = kept.lanes;
          b.first_lane = kept.col + j;
          b.data += q * packed_size<T>(kept.lanes, nr);
        }
        const int64_t b_units = i == 0 && !kept.matrix ? b.units() : 0;  // once for all rows
        const Grid grid =
            choose_grid(kernels, threads > 1 ? kTasksPerThread * threads : 1, part.m, part.n);
        Sums<T> waiting = sums;
        if (sums.data) waiting.data += i * sums.row_stride;
        const Schedule schedule{ceil_div(part.k, kc), b_units + a.units(), grid.tasks};
        run_schedule(schedule, threads, [&](const Schedule::Item& item) {
          const int64_t at = item.block * kc;
          if (!item.is_pack)
            run_task(kernels, a, b, part, grid, item.index, at, q, p.k, waiting);
          else if (item.index < b_units)
            b.pack(kernels, item.index, at);
          else
            a.pack(kernels, item.index - b_units, at);
        });
      }
}

}  // namespace

template <class T>
void packed_product(const Kernels<T>& kernels, const Product<T>& p) {
  const int64_t threads = useful_threads(p);
  // All threads make the panels, before each is at a task of its own.
  if (p.kept_b.matrix) kept_panels(kernels, p, balanced(p.k, kernels.kc, 1));
  if (threads <= 1 || static_cast<double>(p.m) * p.n * p.k >= kWorkToShare * threads)
    return run_product(kernels, p, threads);
  const Grid grid = choose_grid(kernels, threads, p.m, p.n);
  share(threads, grid.tasks, [&](int64_t task) {
    const int64_t i = grid.first_row(task), j = grid.first_col(task);
    run_product(kernels, p.block(i, std::min(grid.rows, p.m - i), j, std::min(grid.cols, p.n - j)),
                1);
  });
}

#define TAEDA_GEMM_INSTANTIATE(T) \
  template void packed_product(const Kernels<T>&, const Product<T>&);
TAEDA_GEMM_FOR_EACH_TYPE(TAEDA_GEMM_INSTANTIATE)
#undef TAEDA_GEMM_INSTANTIATE

}  // namespace taeda::cpu::gemm_kernels
