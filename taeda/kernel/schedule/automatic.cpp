// The usual schedule of a kernel on the CPU.
#include <algorithm>
#include <set>

#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

namespace {

// Blocks of a transposed access: their lines stay in the L1 cache until all of them is used.
constexpr int64_t kBlock = 32;
// Columns that one thread reduces side by side.
constexpr int64_t kColumns = 64;

bool is_leaf(const Loop& loop) {
  return std::none_of(loop.steps.begin(), loop.steps.end(),
                      [](const Step& step) { return std::holds_alternative<Loop>(step); });
}

bool is_kept(const Loop& loop) {
  return std::all_of(loop.axes.begin(), loop.axes.end(),
                     [](const Axis& axis) { return axis.role == Role::Kept; });
}

// The indices of memory accesses under some steps. Stores count twice: lanes that are written one
// by one cost more than lanes that are read so.
std::vector<const Expr*> accesses(const Kernel& kernel, const std::vector<Step>& steps) {
  std::vector<const Expr*> all;
  std::vector<NodeId> roots;
  for (const Step& step : steps) {
    if (const auto* loop = std::get_if<Loop>(&step)) {
      const std::vector<const Expr*> inner = accesses(kernel, loop->steps);
      all.insert(all.end(), inner.begin(), inner.end());
    }
    if (const auto* store = std::get_if<Store>(&step)) all.insert(all.end(), 2, store->at);
    for (NodeId root : roots_of(kernel, step)) roots.push_back(root);
  }
  for (NodeId id : kernel.values.reachable(roots))
    if (kernel.values.node(id).op == Op::Load) all.push_back(kernel.values.node(id).at);
  return all;
}

// Accesses that move by one element along a variable.
std::set<const Expr*> dense_along(const Kernel& kernel, const std::vector<const Expr*>& all,
                                  const Expr* var) {
  std::set<const Expr*> dense;
  for (const Expr* at : all) {
    const Expr* stride = stride_of(*kernel.pool, at, var);
    if (stride && stride->is_constant(1)) dense.insert(at);
  }
  return dense;
}

void merge_plain_axes(Kernel& kernel, Loop& loop) {
  for (size_t i = 0; i + 1 < loop.axes.size();)
    if (can_merge_plainly(kernel, loop, i))
      merge_axes(kernel, loop, i);
    else
      ++i;
}

// The place of the axis along which most accesses are dense; the last one where none is.
size_t best_vector(const Kernel& kernel, const Loop& loop, const std::vector<const Expr*>& all) {
  size_t best = loop.axes.size() - 1, most = 0;
  for (size_t i = loop.axes.size(); i-- > 0;) {
    const std::set<const Expr*> dense = dense_along(kernel, all, loop.axes[i].var);
    const size_t count =
        std::count_if(all.begin(), all.end(), [&](const Expr* at) { return dense.count(at) != 0; });
    if (count > most) best = i, most = count;
  }
  return best;
}

void move_to_end(Kernel& kernel, Loop& loop, size_t place) {
  std::vector<size_t> order;
  for (size_t i = 0; i < loop.axes.size(); ++i)
    if (i != place) order.push_back(i);
  order.push_back(place);
  reorder_axes(kernel, loop, order);
}

// A loop that only stores: the dense axis last, in blocks with one that is dense elsewhere.
void schedule_stores(Kernel& kernel, Loop& loop) {
  merge_plain_axes(kernel, loop);
  const std::vector<const Expr*> all = accesses(kernel, loop.steps);
  move_to_end(kernel, loop, best_vector(kernel, loop, all));
  const size_t last = loop.axes.size() - 1;
  const std::set<const Expr*> dense = dense_along(kernel, all, loop.axes[last].var);
  for (size_t i = 0; i < last; ++i) {
    const std::set<const Expr*> across = dense_along(kernel, all, loop.axes[i].var);
    const bool is_transposed =
        std::any_of(across.begin(), across.end(), [&](const Expr* at) { return !dense.count(at); });
    if (!is_transposed) continue;
    // ..., a, ..., b  to  ..., a_outer, ..., b_outer, a_inner, b_inner
    split_axis(kernel, loop, last, kBlock);
    split_axis(kernel, loop, i, kBlock);
    std::vector<size_t> order;
    for (size_t k = 0; k <= last + 2; ++k)
      if (k != i + 1 && k != last + 2) order.push_back(k);
    order.push_back(i + 1);
    order.push_back(last + 2);
    reorder_axes(kernel, loop, order);
    break;
  }
  loop.axes.back().binding = Binding::Vector;
}

// A loop around reductions: vectors along the reduced axes, or along the last kept one where memory
// is dense along it.
void schedule_reductions(Kernel& kernel, Loop& loop) {
  const std::vector<const Expr*> all = accesses(kernel, loop.steps);
  const Expr* kept = loop.axes.back().var;
  size_t inside = 0;
  bool has_only_reductions = true;
  for (Step& step : loop.steps) {
    auto* inner = std::get_if<Loop>(&step);
    if (!inner) continue;
    const bool is_reduced = inner->axes[0].role == Role::Reduced && is_leaf(*inner);
    has_only_reductions &= is_reduced;
    if (is_reduced) merge_plain_axes(kernel, *inner);
    inside = std::max(inside, dense_along(kernel, all, inner->axes.back().var).size());
  }
  if (has_only_reductions && dense_along(kernel, all, kept).size() > inside + 1) {
    split_axis(kernel, loop, loop.axes.size() - 1, kColumns);
    loop.axes.back().binding = Binding::Vector;
    return;
  }
  for (Step& step : loop.steps) {
    auto* inner = std::get_if<Loop>(&step);
    if (!inner || !is_leaf(*inner)) continue;
    if (inner->axes.back().role != Role::Scanned) inner->axes.back().binding = Binding::Vector;
  }
}

}  // namespace

void schedule_for_cpu(Kernel& kernel) {
  for (Step& step : kernel.steps) {
    auto* loop = std::get_if<Loop>(&step);
    if (!loop || !is_kept(*loop)) continue;
    for (Axis& axis : loop->axes) axis.binding = Binding::Serial;
    if (is_leaf(*loop))
      schedule_stores(kernel, *loop);
    else
      schedule_reductions(kernel, *loop);
    if (loop->axes.size() > 1 || loop->axes[0].binding == Binding::Serial)
      loop->axes[0].binding = Binding::Parallel;
  }
  verify(kernel);
}

}  // namespace taeda::kernel
