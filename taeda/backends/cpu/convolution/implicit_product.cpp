// Tasks of tiles over operands that are packed on demand.
#include "taeda/backends/cpu/convolution/implicit_product.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "taeda/backends/cpu/gemm/packed.h"
#include "taeda/backends/cpu/gemm/scratch.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu::convolution_kernels {
namespace {

using gemm_kernels::Kernels;
using gemm_kernels::kParts;
using gemm_kernels::packed_size;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Lanes of a task: those packed on demand stay in L2 beside the sums.
constexpr int64_t kOwnLanes = 128, kSharedLanes = 512;
// The same where both operands are packed on demand, once per block of the other one.
constexpr int64_t kBothOwnLanes = 256;

template <class T>
int64_t most_lanes(const Operand<T>& operand, const Operand<T>& other) {
  return operand.is_shared ? kSharedLanes : other.is_shared ? kOwnLanes : kBothOwnLanes;
}
// Multiply-adds below which one thread does everything.
constexpr double kLeastParallelWork = 256.0 * 1024;

// How the lanes of one operand are cut into blocks, each a task's share of it.
struct Cut {
  int64_t count;
  int width;
  int64_t lanes, blocks;

  Cut(int64_t count, int width, int64_t most)
      : count(count), width(width), lanes(count), blocks(1) {
    shrink(divide_up(count, most));
  }
  // At least `wanted` blocks where there are as many panels.
  void shrink(int64_t wanted) {
    wanted = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(divide_up(count, width), 1));
    lanes = std::max<int64_t>(divide_up(divide_up(count, width), wanted), 1) * width;
    blocks = std::max<int64_t>(divide_up(count, lanes), 1);
  }
  int64_t first(int64_t block) const { return block * lanes; }
  int64_t size(int64_t block) const { return std::min(lanes, count - first(block)); }
};

void share(int64_t tasks, bool is_parallel, FunctionRef<void(int64_t)> body) {
  std::atomic<int64_t> next{0};
  const auto take = [&](int64_t, int64_t) {
    for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) body(task);
  };
  const int64_t threads = is_parallel && !in_parallel_region() ? num_threads() : 1;
  if (threads <= 1) return take(0, 0);
  parallel_for(0, std::min(threads, tasks), 1, take);
}

template <class T>
class Run {
 public:
  explicit Run(const ImplicitProduct<T>& p)
      : p_(p),
        kernels_(gemm_kernels::kernels().get<T>()),
        rows_(p.a.count, kernels_.mr, most_lanes(p.a, p.b)),
        cols_(p.b.count, kernels_.nr, most_lanes(p.b, p.a)) {
    const double work = static_cast<double>(p.a.count) * p.b.count * p.depth * p.groups;
    is_parallel_ = work >= kLeastParallelWork;
    const int64_t blocks = std::max<int64_t>(divide_up(p.depth, kernels_.kc), 1);
    kc_ = std::max<int64_t>(divide_up(p.depth, blocks), 1);
    if (is_parallel_) split();
  }

  void run() {
    if (p_.a.is_shared) shared_ = pack_shared(p_.a, kernels_.mr);
    if (p_.b.is_shared) shared_ = pack_shared(p_.b, kernels_.nr);
    const int64_t per_group = rows_.blocks * cols_.blocks;
    share(p_.groups * per_group, is_parallel_, [&](int64_t task) {
      const int64_t in_group = task % per_group;
      run_task(task / per_group, in_group / cols_.blocks, in_group % cols_.blocks);
    });
  }

 private:
  // More tasks than threads, so that none waits long for the last one. An operand that is packed
  // on demand is cut where the other one is shared, else its columns are.
  void split() {
    const int64_t wanted = divide_up(4 * int64_t{num_threads()}, p_.groups);
    if (rows_.blocks * cols_.blocks >= wanted) return;
    Cut& cut = p_.b.is_shared ? rows_ : cols_;
    const Cut& other = p_.b.is_shared ? cols_ : rows_;
    cut.shrink(divide_up(wanted, other.blocks));
  }

  // All panels of an operand: groups, then depth blocks, then panels.
  PartOf<T>* pack_shared(const Operand<T>& operand, int width) {
    const int64_t panels = divide_up(operand.count, width), blocks = divide_up(p_.depth, kc_);
    shared_group_ = packed_size<T>(operand.count, width) * p_.depth;
    auto* data = scratch_array<PartOf<T>>(Scratch::Filters, shared_group_ * p_.groups);
    share(p_.groups * blocks * panels, is_parallel_, [&](int64_t at) {
      const int64_t group = at / (blocks * panels), block = at / panels % blocks;
      const int64_t panel = at % panels, q = block * kc_, depth = std::min(kc_, p_.depth - q);
      operand.pack(group, panel * width, std::min<int64_t>(width, operand.count - panel * width), q,
                   depth, width, shared_at(data, operand.count, width, group, panel, q, depth));
    });
    return data;
  }
  PartOf<T>* shared_at(PartOf<T>* data, int64_t count, int width, int64_t group, int64_t panel,
                       int64_t q, int64_t depth) const {
    return data + group * shared_group_ + q * packed_size<T>(count, width) +
           panel * width * depth * kParts<T>;
  }

  // The panels of one block and depth block, packed now or before.
  const PartOf<T>* panels(const Operand<T>& operand, const Cut& cut, Scratch slot, int64_t group,
                          int64_t block, int64_t q, int64_t depth) {
    const int width = cut.width;
    const int64_t first = cut.first(block);
    if (operand.is_shared)
      return shared_at(shared_, operand.count, width, group, first / width, q, depth);
    auto* data = scratch_array<PartOf<T>>(slot, packed_size<T>(cut.lanes, width) * kc_);
    for (int64_t lane = 0; lane < cut.size(block); lane += width)
      operand.pack(group, first + lane, std::min<int64_t>(width, cut.size(block) - lane), q, depth,
                   width, data + lane * depth * kParts<T>);
    return data;
  }

  void run_task(int64_t group, int64_t row_block, int64_t col_block) {
    using Acc = AccOf<T>;
    const int64_t rows = rows_.size(row_block), cols = cols_.size(col_block);
    if (rows <= 0 || cols <= 0) return;
    const int mr = kernels_.mr, nr = kernels_.nr;
    const int64_t stride = divide_up(cols, nr) * nr, height = divide_up(rows, mr) * mr;
    Acc* sums = scratch_array<Acc>(Scratch::Sums, height * stride);
    if (p_.depth == 0) std::fill_n(sums, height * stride, Acc(0));
    for (int64_t q = 0; q < p_.depth; q += kc_) {
      const int64_t depth = std::min(kc_, p_.depth - q);
      const auto* a = panels(p_.a, rows_, Scratch::PanelA, group, row_block, q, depth);
      const auto* b = panels(p_.b, cols_, Scratch::PanelB, group, col_block, q, depth);
      const Acc keep(q == 0 ? 0 : 1);
      for (int64_t j = 0; j < cols; j += nr)
        for (int64_t i = 0; i < rows; i += mr) {
          const auto tile = kernels_.tile_for(rows - i);
          tile(depth, a + i * depth * kParts<T>, b + j * depth * kParts<T>, Acc(1), keep,
               sums + i * stride + j, stride, {});
        }
    }
    p_.store({group, rows_.first(row_block), rows, cols_.first(col_block), cols, sums, stride});
  }

  const ImplicitProduct<T>& p_;
  const Kernels<T>& kernels_;
  Cut rows_, cols_;
  bool is_parallel_;
  int64_t kc_, shared_group_ = 0;
  PartOf<T>* shared_ = nullptr;
};

}  // namespace

template <class T>
void ImplicitProduct<T>::run() const {
  if (groups > 0 && a.count > 0 && b.count > 0) Run<T>(*this).run();
}

#define TAEDA_INSTANTIATE(T) template struct ImplicitProduct<T>;
TAEDA_GEMM_FOR_EACH_TYPE(TAEDA_INSTANTIATE)
#undef TAEDA_INSTANTIATE

}  // namespace taeda::cpu::convolution_kernels
