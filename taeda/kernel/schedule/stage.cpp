// Values through local buffers.
#include <algorithm>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

namespace {

Loop& inner_loop(Loop& loop, size_t step) {
  TAEDA_CHECK_VALUE(step < loop.steps.size() && std::holds_alternative<Loop>(loop.steps[step]),
                    "[kernel] step ", step, " of a loop with ", loop.steps.size(),
                    " steps is no loop");
  return std::get<Loop>(loop.steps[step]);
}

// The steps from `first` on with one value in the place of another.
void replace_from(Kernel& kernel, Loop& loop, size_t first, NodeId from, NodeId to) {
  std::vector<Step> rest(
      std::make_move_iterator(loop.steps.begin() + static_cast<std::ptrdiff_t>(first)),
      std::make_move_iterator(loop.steps.end()));
  replace_value(kernel, rest, from, to);
  std::move(rest.begin(), rest.end(), loop.steps.begin() + static_cast<std::ptrdiff_t>(first));
}

bool is_computed(const Kernel& kernel, const Loop& loop, NodeId value) {
  std::vector<NodeId> roots;
  for (const Step& step : loop.steps)
    for (NodeId root : roots_of(kernel, step)) roots.push_back(root);
  const std::vector<NodeId> all = kernel.values.reachable(roots);
  return std::find(all.begin(), all.end(), value) != all.end();
}

}  // namespace

void stage_load(Kernel& kernel, Loop& loop, size_t step, NodeId load,
                const std::vector<StagedAxis>& axes) {
  inner_loop(loop, step);
  const Node node = kernel.values.node(load);
  TAEDA_CHECK_VALUE(node.op == Op::Load && node.args[0] < 0, "[kernel] value ", load,
                    " is no load without a mask");
  TAEDA_CHECK_VALUE(!axes.empty(), "[kernel] a tile has no axis");
  for (const StagedAxis& one : axes) check_params(kernel, one.size);
  ExprPool& pool = *kernel.pool;
  const Expr *at = pool.integer(0), *stride = pool.integer(1);
  for (size_t i = axes.size(); i-- > 0;) {
    at = pool.add(at, pool.mul(stride, axes[i].axis.var));
    stride = pool.mul(stride, axes[i].size);
  }
  const Buffer from = kernel.buffers[node.index];
  const int tile = add_buffer(kernel, from.name + "_tile", from.dtype, stride, Space::Local);
  Loop copy;
  // Memory is read in the order of its own, which is another than that of the tile.
  for (size_t i = axes.size(); i-- > 0;)
    copy.axes.push_back({axes[i].axis.var, axes[i].axis.extent, Role::Kept, Binding::Serial});
  copy.steps.push_back(Store{tile, at, load, -1, StoreMode::Write});
  replace_from(kernel, loop, step, load, kernel.values.load(tile, node.type, at));
  loop.steps.insert(loop.steps.begin() + static_cast<std::ptrdiff_t>(step), std::move(copy));
}

void keep_value(Kernel& kernel, Loop& loop, size_t step, NodeId value) {
  Loop& inner = inner_loop(loop, step);
  TAEDA_CHECK_VALUE(inner.axes.size() == 1 && is_computed(kernel, inner, value), "[kernel] value ",
                    value, " is not computed along one axis by step ", step);
  const Axis axis = inner.axes[0];
  check_params(kernel, axis.extent);
  for (size_t i = step + 1; i < loop.steps.size(); ++i) {
    const auto* other = std::get_if<Loop>(&loop.steps[i]);
    if (!other || !is_computed(kernel, *other, value)) continue;
    const bool is_same = other->axes.size() == 1 && other->axes[0].var == axis.var &&
                         other->axes[0].extent == axis.extent;
    TAEDA_CHECK_VALUE(is_same, "[kernel] step ", i, " computes value ", value,
                      " along other axes than ", axis.var->name);
  }
  const Type type = kernel.values.node(value).type;
  const int row = add_buffer(kernel, "row", dtype_of(type), axis.extent, Space::Local);
  inner.steps.insert(inner.steps.begin(), Store{row, axis.var, value, -1, StoreMode::Write});
  replace_from(kernel, loop, step + 1, value, kernel.values.load(row, type, axis.var));
}

}  // namespace taeda::kernel
