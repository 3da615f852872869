// The usual schedule of a kernel on the CPU.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/ir/transposition.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

namespace {

// Blocks of a transposed access: some lines of the cache along both axes.
constexpr int64_t kBlockHeight = 64, kBlockWidth = 256;
// Columns that one thread reduces side by side.
constexpr int64_t kColumns = 64;
// Elements that fill a vector.
constexpr int64_t kFullVector = 16;
// Steps in memory that leave several elements in a line of the cache.
constexpr int64_t kNear = 8;
// Rows of no more elements may be reduced side by side, which reads them lane by lane: a tree for
// each costs more.
constexpr int64_t kShortRow = 64;
// Iterations of the outermost axis that keep all threads busy.
constexpr int64_t kEnoughParts = 64;

bool is_leaf(const Loop& loop) {
  return std::none_of(loop.steps.begin(), loop.steps.end(),
                      [](const Step& step) { return std::holds_alternative<Loop>(step); });
}

bool is_kept(const Loop& loop) {
  return std::all_of(loop.axes.begin(), loop.axes.end(),
                     [](const Axis& axis) { return axis.role == Role::Kept; });
}

// The extent of an axis; one that is a symbol is as long as can be.
int64_t length_of(const Axis& axis) {
  return axis.extent->is_constant() ? axis.extent->value.integer
                                    : std::numeric_limits<int64_t>::max();
}

// All values that some steps compute.
std::vector<NodeId> values_of(const Kernel& kernel, const std::vector<Step>& steps) {
  std::vector<NodeId> roots;
  auto collect = [&](auto& self, const std::vector<Step>& all) -> void {
    for (const Step& step : all) {
      if (const auto* loop = std::get_if<Loop>(&step)) self(self, loop->steps);
      for (NodeId root : roots_of(kernel, step)) roots.push_back(root);
    }
  };
  collect(collect, steps);
  return kernel.values.reachable(roots);
}

bool is_direct(const Kernel& kernel, const Expr* at) {
  const auto symbols = symbolic::symbols_of(at);
  return std::none_of(symbols.begin(), symbols.end(), [&](const Expr* symbol) {
    return kernel.values.find_indirect(symbol) != nullptr;
  });
}

// The values along an axis with a dear operation in them.
std::set<NodeId> dear_values(const Kernel& kernel, const std::vector<NodeId>& order,
                             const Expr* var) {
  std::set<NodeId> moving, dear;
  for (NodeId id : order) {
    const Node& node = kernel.values.node(id);
    bool moves = false, has_dear = is_dear(node.op);
    if (node.at)
      for (const Expr* symbol : symbolic::symbols_of(node.at)) moves |= symbol == var;
    for (NodeId arg : kernel.values.dependencies(id)) {
      moves |= moving.count(arg) != 0;
      has_dear |= dear.count(arg) != 0;
    }
    if (moves) moving.insert(id);
    if (moves && has_dear) dear.insert(id);
  }
  return dear;
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
    if (can_merge_plainly(kernel, loop, i, i + 1))
      merge_axes(kernel, loop, i);
    else
      ++i;
}

// Where memory lies in another order than the axes of a loop that stores: two axes that would merge
// if one came right after the other.
bool merge_in_memory_order(Kernel& kernel, Loop& loop) {
  for (size_t i = 0; i < loop.axes.size(); ++i)
    for (size_t j = 0; j < loop.axes.size(); ++j) {
      if (i == j || !can_merge_plainly(kernel, loop, i, j)) continue;
      std::vector<size_t> order;
      for (size_t k = 0; k < loop.axes.size(); ++k) {
        if (k != j) order.push_back(k);
        if (k == i) order.push_back(j);
      }
      reorder_axes(kernel, loop, order);
      merge_axes(kernel, loop, i < j ? i : i - 1);
      return true;
    }
  return false;
}

// The accesses that move with the most axes: the others read a few elements again and again.
std::vector<const Expr*> widest(const Kernel& kernel, const std::vector<Axis>& axes,
                                const std::vector<const Expr*>& all) {
  std::vector<const Expr*> found;
  size_t most = 0;
  for (const Expr* at : all) {
    const auto symbols = symbolic::symbols_of(at);
    const bool is_indirect = !is_direct(kernel, at);
    size_t count = 0;
    for (const Axis& axis : axes)
      count += is_indirect || std::find(symbols.begin(), symbols.end(), axis.var) != symbols.end();
    if (count > most) found.clear();
    most = std::max(most, count);
    if (count == most) found.push_back(at);
  }
  return found;
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

// Colliding elements are combined by one thread.
bool has_atomics(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    if (const auto* loop = std::get_if<Loop>(&step)) return has_atomics(loop->steps);
    const auto* store = std::get_if<Store>(&step);
    return store && store->mode != StoreMode::Write && store->mode != StoreMode::Add;
  });
}

void clear_bindings(Loop& loop) {
  for (Axis& axis : loop.axes) axis.binding = Binding::Serial;
  for (Step& step : loop.steps)
    if (auto* inner = std::get_if<Loop>(&step)) clear_bindings(*inner);
}

// Loads that are dense along `across` and not along `last`, though they move with both.
std::vector<NodeId> transposed_loads(const Kernel& kernel, const std::vector<Step>& steps,
                                     const Expr* across, const Expr* last) {
  std::vector<NodeId> found;
  for (NodeId id : values_of(kernel, steps)) {
    const Node& node = kernel.values.node(id);
    if (node.op != Op::Load || node.args[0] >= 0) continue;
    const Expr* dense = stride_of(*kernel.pool, node.at, across);
    const Expr* stride = stride_of(*kernel.pool, node.at, last);
    if (dense && stride && dense->is_constant(1) && !stride->is_constant(1) &&
        !stride->is_constant(0) && is_direct(kernel, node.at))
      found.push_back(id);
  }
  return found;
}

// A loop that only stores: the dense axis last, in blocks with one that is dense elsewhere.
void schedule_stores(Kernel& kernel, Loop& loop) {
  merge_plain_axes(kernel, loop);
  const bool can_reorder = std::all_of(loop.axes.begin(), loop.axes.end(), [&](const Axis& axis) {
    return is_of_params(kernel, axis.extent);
  });
  while (can_reorder && merge_in_memory_order(kernel, loop)) {
  }
  move_to_end(kernel, loop,
              best_vector(kernel, loop, widest(kernel, loop.axes, accesses(kernel, loop.steps))));
  const size_t last = loop.axes.size() - 1;
  loop.axes[last].binding = Binding::Vector;
  for (size_t i = 0; i < last; ++i) {
    if (transposed_loads(kernel, loop.steps, loop.axes[i].var, loop.axes[last].var).empty())
      continue;
    // ..., a, ..., b  to  ..., a_outer, ..., b_outer around a_inner, b_inner
    split_axis(kernel, loop, last, kBlockWidth);
    split_axis(kernel, loop, i, kBlockHeight);
    std::vector<size_t> order;
    for (size_t k = 0; k <= last + 2; ++k)
      if (k != i + 1 && k != last + 2) order.push_back(k);
    order.push_back(i + 1);
    order.push_back(last + 2);
    reorder_axes(kernel, loop, order);
    nest_axes(kernel, loop, last + 1);
    const auto& inner = std::get<Loop>(loop.steps[0]);
    const Axis a = inner.axes[0], b = inner.axes[1];
    size_t step = 0;
    for (NodeId load : transposed_loads(kernel, inner.steps, a.var, b.var))
      stage_load(kernel, loop, step++, load,
                 {{a, kernel.pool->integer(kBlockHeight)}, {b, kernel.pool->integer(kBlockWidth)}});
    break;
  }
}

// The axis along which all loops inside run; null where they differ.
const Axis* common_axis(const Kernel& kernel, const Loop& loop) {
  const Axis* common = nullptr;
  for (const Step& step : loop.steps) {
    const auto* inner = std::get_if<Loop>(&step);
    if (!inner) continue;
    const Axis& axis = inner->axes.back();
    if (inner->axes.size() != 1 || !is_leaf(*inner) || !is_of_params(kernel, axis.extent))
      return nullptr;
    if (common && (common->var != axis.var || common->extent != axis.extent)) return nullptr;
    common = &axis;
  }
  return common;
}

// Operands that are transposed come through tiles of some rows, so that rows are dense. Returns the
// loop around the rows' loops.
Loop& stage_rows(Kernel& kernel, Loop& loop) {
  const Axis* common = common_axis(kernel, loop);
  const size_t last = loop.axes.size() - 1;
  if (!common) return loop;
  const Axis columns = *common;
  const std::vector<NodeId> loads =
      transposed_loads(kernel, loop.steps, loop.axes[last].var, columns.var);
  if (loads.empty()) return loop;
  int64_t item = 8;  // of the shortest: a row of the tile's memory is a line of the cache
  for (NodeId id : loads)
    item = std::min<int64_t>(item, item_size(kernel.buffers[kernel.values.node(id).index].dtype));
  const int64_t height = 64 / item;
  // A tile is never larger than the operand.
  const Expr* extent = loop.axes[last].extent;
  const Expr* size = kernel.pool->integer(height);
  if (is_of_params(kernel, extent)) size = kernel.pool->make(symbolic::ExprOp::Min, size, extent);
  split_axis(kernel, loop, last, height);
  nest_axes(kernel, loop, last + 1);
  const Axis rows = std::get<Loop>(loop.steps[0]).axes[0];
  size_t step = 0;
  for (NodeId load : transposed_loads(kernel, loop.steps, rows.var, columns.var))
    stage_load(kernel, loop, step++, load, {{rows, size}, {columns, columns.extent}});
  return std::get<Loop>(loop.steps[step]);
}

// Values with dear operations that a reduction computes and a later loop would compute again.
void keep_dear_values(Kernel& kernel, Loop& loop) {
  if (!common_axis(kernel, loop)) return;
  for (size_t k = 0; k + 1 < loop.steps.size(); ++k) {
    const auto* inner = std::get_if<Loop>(&loop.steps[k]);
    if (!inner || inner->axes[0].role != Role::Reduced) continue;
    const std::vector<Step> later(loop.steps.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                                  loop.steps.end());
    const std::vector<NodeId> again = values_of(kernel, later);
    const std::vector<NodeId> here = values_of(kernel, inner->steps);
    const std::set<NodeId> dear = dear_values(kernel, here, inner->axes[0].var);
    std::set<NodeId> covered;
    for (size_t i = here.size(); i-- > 0;) {
      const NodeId id = here[i];
      if (covered.count(id)) {
        for (NodeId arg : kernel.values.dependencies(id)) covered.insert(arg);
      } else if (dear.count(id) && std::count(again.begin(), again.end(), id)) {
        keep_value(kernel, loop, k, id);
        for (NodeId arg : kernel.values.dependencies(id)) covered.insert(arg);
      }
    }
  }
}

// Whether some access moves along a variable by so little that vectors share lines of the cache.
bool is_near_along(const Kernel& kernel, const std::vector<const Expr*>& all, const Expr* var) {
  return std::any_of(all.begin(), all.end(), [&](const Expr* at) {
    const Expr* stride = stride_of(*kernel.pool, at, var);
    return stride && stride->is_constant() && stride->value.integer >= 1 &&
           stride->value.integer <= kNear;
  });
}

// The kept axis along which memory is dense, or nearly so, comes last; false where there is none.
bool move_columns_to_end(Kernel& kernel, Loop& loop, const std::vector<const Expr*>& all) {
  move_to_end(kernel, loop, best_vector(kernel, loop, all));
  if (!dense_along(kernel, all, loop.axes.back().var).empty()) return true;
  for (const Step& step : loop.steps)
    if (const auto* inner = std::get_if<Loop>(&step))
      if (is_near_along(kernel, all, inner->axes.back().var)) return false;
  for (size_t i = loop.axes.size(); i-- > 0;)
    if (length_of(loop.axes[i]) >= kFullVector && is_near_along(kernel, all, loop.axes[i].var)) {
      move_to_end(kernel, loop, i);
      return true;
    }
  return false;
}

// Elements of a row that are too few for a reduction along it: less than the lanes of its tree, or
// several times as many where states are dear to combine.
int64_t short_row(const ReduceBody& body) {
  return body.state_types.size() > 1 ? kShortRow : body.lanes() - 1;
}

// Whether all that is inside of a loop over many rows is reductions of a few elements.
bool has_short_rows(const Kernel& kernel, const Loop& loop) {
  bool is_long = false;
  for (const Axis& axis : loop.axes) {
    if (!is_of_params(kernel, axis.extent)) return false;
    is_long |= length_of(axis) >= kColumns;
  }
  for (const Step& step : loop.steps) {
    const auto* inner = std::get_if<Loop>(&step);
    if (!inner) continue;
    int64_t length = 1;
    for (const Axis& axis : inner->axes) {
      if (length_of(axis) > kShortRow) return false;
      length *= length_of(axis);
    }
    for (const Step& part : inner->steps) {
      const auto* reduce = std::get_if<Reduce>(&part);
      if (!reduce || length > short_row(*reduce->body)) return false;
    }
  }
  return is_long;
}

// The longest kept axis comes last.
void move_longest_to_end(Kernel& kernel, Loop& loop) {
  size_t longest = loop.axes.size() - 1;
  for (size_t i = loop.axes.size(); i-- > 0;)
    if (length_of(loop.axes[i]) > length_of(loop.axes[longest])) longest = i;
  move_to_end(kernel, loop, longest);
}

// A loop around reductions: vectors along the reduced axes, or along the last kept one where memory
// is dense along it or rows are short.
void schedule_reductions(Kernel& kernel, Loop& loop) {
  bool is_flat = true;
  for (Step& step : loop.steps) {
    auto* inner = std::get_if<Loop>(&step);
    if (!inner) continue;
    is_flat &= is_leaf(*inner) && inner->axes[0].role != Role::Scanned;
    if (inner->axes[0].role != Role::Scanned && is_leaf(*inner)) merge_plain_axes(kernel, *inner);
  }
  std::vector<Axis> axes = loop.axes;
  for (const Step& step : loop.steps)
    if (const auto* inner = std::get_if<Loop>(&step))
      axes.insert(axes.end(), inner->axes.begin(), inner->axes.end());
  const std::vector<const Expr*> all = widest(kernel, axes, accesses(kernel, loop.steps));
  size_t inside = 0;
  for (const Step& step : loop.steps)
    if (const auto* inner = std::get_if<Loop>(&step))
      inside = std::max(inside, dense_along(kernel, all, inner->axes.back().var).size());
  const bool are_short = is_flat && inside > 0 && has_short_rows(kernel, loop);
  if (are_short) {
    merge_plain_axes(kernel, loop);
    move_longest_to_end(kernel, loop);
  }
  if (are_short || (is_flat && inside == 0 && move_columns_to_end(kernel, loop, all))) {
    split_axis(kernel, loop, loop.axes.size() - 1, kColumns);
    loop.axes.back().binding = Binding::Vector;
    return;
  }
  Loop& rows = stage_rows(kernel, loop);
  keep_dear_values(kernel, rows);
  for (Step& step : rows.steps) {
    auto* inner = std::get_if<Loop>(&step);
    if (!inner || !is_leaf(*inner)) continue;
    if (inner->axes.back().role != Role::Scanned) inner->axes.back().binding = Binding::Vector;
  }
}

// The axis that threads share is the first one. Where it is short, the longest of those that are
// neither a vector nor the block of a transposition takes its place.
void lead_with_a_long_axis(Kernel& kernel, Loop& loop) {
  if (length_of(loop.axes[0]) >= kEnoughParts) return;
  for (const Axis& axis : loop.axes)
    if (!is_of_params(kernel, axis.extent)) return;
  size_t end = loop.axes.size();
  if (is_leaf(loop)) end = find_transposition(kernel, loop) ? end - 2 : end - 1;
  if (loop.axes.back().binding == Binding::Vector) end = std::min(end, loop.axes.size() - 1);
  size_t longest = 0;
  for (size_t i = 1; i < end; ++i)
    if (length_of(loop.axes[i]) > length_of(loop.axes[longest])) longest = i;
  if (longest == 0) return;
  std::vector<size_t> order{longest};
  for (size_t i = 0; i < loop.axes.size(); ++i)
    if (i != longest) order.push_back(i);
  reorder_axes(kernel, loop, order);
}

// Where the first axis may be too short for all threads, they share out the second one as well.
void launch_two_axes(const Kernel& kernel, Loop& loop) {
  if (loop.axes.size() < 2 || loop.axes[0].binding != Binding::Parallel) return;
  const Expr* extent = loop.axes[0].extent;
  if (extent->is_constant() && extent->value.integer >= kEnoughParts) return;
  const bool is_block = is_leaf(loop) && loop.axes.size() < 4 && find_transposition(kernel, loop);
  if (is_block || loop.axes[1].binding != Binding::Serial) return;
  if (is_of_params(kernel, loop.axes[1].extent)) loop.axes[1].binding = Binding::Parallel;
}

// The store that adds up at an index that is read, one update after the other; null for none.
const Store* find_ordered(const Kernel& kernel, const Loop& loop) {
  for (const Step& step : loop.steps)
    if (const auto* store = std::get_if<Store>(&step))
      if (store->mode == StoreMode::Add && !is_direct(kernel, store->at)) return store;
  return nullptr;
}

// Updates meet along axes that do not move the index themselves: these keep their order and one
// thread. The others are shared out, but the one along which memory is dense comes last; where it
// is the only one, its parts are shared out:
//   meeting, dense  to  dense_outer, meeting, dense_inner
void schedule_ordered(Kernel& kernel, Loop& loop, const Store& store) {
  merge_plain_axes(kernel, loop);
  const std::vector<const Expr*> moving = symbolic::symbols_of(store.at);
  std::vector<size_t> order, meeting;
  std::optional<size_t> dense;
  for (size_t i = 0; i < loop.axes.size(); ++i) {
    const Expr* var = loop.axes[i].var;
    const Expr* stride = stride_of(*kernel.pool, store.at, var);
    if (std::find(moving.begin(), moving.end(), var) == moving.end())
      meeting.push_back(i);
    else if (!dense && stride && stride->is_constant(1))
      dense = i;
    else
      order.push_back(i);
  }
  size_t num_shared = order.size();
  if (dense && num_shared == 0 && is_of_params(kernel, loop.axes[*dense].extent)) {
    split_axis(kernel, loop, *dense, kColumns);
    order.push_back((*dense)++);
    for (size_t& place : meeting) place += place >= *dense;
    num_shared = 1;
  }
  order.insert(order.end(), meeting.begin(), meeting.end());
  if (dense) order.push_back(*dense);
  reorder_axes(kernel, loop, order);
  if (dense) loop.axes.back().binding = Binding::Vector;
  for (size_t i = 0; i < std::min<size_t>(num_shared, 2); ++i)
    if (i == 0 || is_of_params(kernel, loop.axes[i].extent))
      loop.axes[i].binding = Binding::Parallel;
}

// Whether memory has the store's value as it is.
bool is_exact(const Kernel& kernel, const Store& store) {
  return store.mask < 0 && store.mode == StoreMode::Write &&
         kernel.buffers[store.buffer].space == Space::Global &&
         kernel.buffers[store.buffer].dtype == dtype_of(kernel.values.node(store.value).type);
}

// The stores of a loop of reductions that can be done before it, after which the loop reads nothing
// but what they wrote. They must be worth it: the tree of a reduction would hold a dear operation
// once per lane, and threads that share columns read rows far apart.
std::vector<Store> leading_stores(const Kernel& kernel, const Loop& loop, const Loop& inner) {
  std::vector<Store> stores;
  std::set<NodeId> stored;
  for (const Step& step : inner.steps)
    if (const auto* store = std::get_if<Store>(&step)) {
      if (!is_exact(kernel, *store)) return {};
      stores.push_back(*store);
      stored.insert(store->value);
    }
  for (const Step& step : inner.steps)
    if (const auto* reduce = std::get_if<Reduce>(&step))
      for (NodeId value : reduce->values)
        if (!stored.count(value)) return {};
  for (const std::vector<Axis>* axes : {&loop.axes, &inner.axes})
    for (const Axis& axis : *axes)
      if (!is_of_params(kernel, axis.extent)) return {};
  const std::vector<NodeId> all = values_of(kernel, inner.steps);
  const bool is_worth = !dear_values(kernel, all, loop.axes.back().var).empty();
  const std::vector<const Expr*> places = accesses(kernel, inner.steps);
  const bool has_columns = dense_along(kernel, places, inner.axes.back().var).empty();
  return is_worth && has_columns ? stores : std::vector<Store>();
}

// Columns of dear values that are stored as well as reduced: a loop that stores them comes first,
// and the reduction reads memory.
void store_dear_columns_first(Kernel& kernel) {
  std::vector<Step> steps;
  for (Step& step : kernel.steps) {
    auto* loop = std::get_if<Loop>(&step);
    auto* inner = loop && !loop->steps.empty() ? std::get_if<Loop>(&loop->steps[0]) : nullptr;
    const bool is_candidate = inner && is_kept(*loop) && is_leaf(*inner) &&
                              inner->axes[0].role == Role::Reduced &&
                              std::none_of(loop->steps.begin() + 1, loop->steps.end(),
                                           [](auto& s) { return std::holds_alternative<Loop>(s); });
    const std::vector<Store> stores =
        is_candidate ? leading_stores(kernel, *loop, *inner) : std::vector<Store>();
    if (!stores.empty()) {
      Loop first{inner->axes, {}};
      for (Axis& axis : first.axes) axis.role = Role::Kept;
      first.axes.insert(first.axes.end(), loop->axes.begin(), loop->axes.end());
      first.steps.assign(stores.begin(), stores.end());
      steps.emplace_back(std::move(first));
      steps.emplace_back(Barrier{});
      std::erase_if(inner->steps, [](const Step& s) { return std::holds_alternative<Store>(s); });
      for (const Store& store : stores)
        replace_value(kernel, inner->steps, store.value, kernel.load(store.buffer, store.at));
    }
    steps.push_back(std::move(step));
  }
  kernel.steps = std::move(steps);
}

}  // namespace

void schedule_for_cpu(Kernel& kernel) {
  simplify_quotients(kernel);
  cut_at_masks(kernel);
  store_dear_columns_first(kernel);
  for (Step& step : kernel.steps) {
    auto* loop = std::get_if<Loop>(&step);
    if (!loop || !is_kept(*loop)) continue;
    clear_bindings(*loop);
    if (const Store* ordered = find_ordered(kernel, *loop)) {
      schedule_ordered(kernel, *loop, Store(*ordered));
      continue;
    }
    if (is_leaf(*loop))
      schedule_stores(kernel, *loop);
    else
      schedule_reductions(kernel, *loop);
    if (has_atomics(loop->steps)) continue;
    lead_with_a_long_axis(kernel, *loop);
    if (loop->axes.size() > 1 || loop->axes[0].binding == Binding::Serial)
      loop->axes[0].binding = Binding::Parallel;
    launch_two_axes(kernel, *loop);
  }
  verify(kernel);
}

}  // namespace taeda::kernel
