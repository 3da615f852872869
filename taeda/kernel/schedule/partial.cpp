// Reductions by several threads.
#include <algorithm>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/reduce_tree.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

namespace {

bool is_block(int64_t size) {
  return size >= kReduceChunk && size % kReduceChunk == 0 && (size & (size - 1)) == 0;
}

// The first number that no state has.
int free_state(const std::vector<Step>& steps) {
  int next = 0;
  for (const Step& step : steps) {
    if (const auto* loop = std::get_if<Loop>(&step)) next = std::max(next, free_state(loop->steps));
    if (const auto* reduce = std::get_if<Reduce>(&step))
      next = std::max(next, reduce->first_state + static_cast<int>(state_types(*reduce).size()));
    if (const auto* scan = std::get_if<Scan>(&step))
      next = std::max(next, scan->first_state + static_cast<int>(scan->body->result_types.size()));
  }
  return next;
}

// Splits the reductions of one loop.
class Splitter {
 public:
  Splitter(Kernel& kernel, Loop& rows, int64_t size)
      : kernel_(kernel), pool_(*kernel.pool), rows_(rows) {
    const Axis axis = inner().axes[0];
    size_ = pool_.integer(size);
    blocks_ = pool_.ceil_div(axis.extent, size_);
    outer_ = fresh_axis(kernel, axis.var->name + "_outer");
    const Expr* start = pool_.mul(size_, outer_);
    within_ = fresh_axis(kernel, axis.var->name + "_inner");
    length_ = pool_.make(symbolic::ExprOp::Min, size_, pool_.subtract(axis.extent, start));
    // The place of a block's state: blocks of a row follow each other.
    at_ = pool_.integer(0);
    for (const Axis& row : rows.axes) at_ = pool_.add(pool_.mul(at_, row.extent), row.var);
    at_ = pool_.add(pool_.mul(at_, blocks_), outer_);
    numel_ = blocks_;
    for (const Axis& row : rows.axes) numel_ = pool_.mul(numel_, row.extent);
  }

  // The loop of the blocks; the given one combines them from now on.
  Loop split() {
    Loop parts;
    parts.axes.push_back({outer_, blocks_, Role::Kept, Binding::Parallel});
    for (Axis axis : rows_.axes) {
      axis.binding = Binding::Serial;
      parts.axes.push_back(axis);
    }
    const Axis axis = inner().axes[0];
    Loop block{{{within_, length_, Role::Reduced, axis.binding}}, {}};
    std::vector<Step> stores;
    int state = free_state(kernel_.steps);
    for (Step& step : inner().steps) split_one(std::get<Reduce>(step), block, stores, state);
    const symbolic::Replacements inside = {
        {axis.var, pool_.add(pool_.mul(size_, outer_), within_)}};
    rewrite_indices(kernel_, block.steps,
                    [&](const Expr* at) { return symbolic::substitute(pool_, at, inside); });
    parts.steps.push_back(std::move(block));
    for (Step& store : stores) parts.steps.push_back(std::move(store));
    inner().axes[0] = {outer_, blocks_, Role::Reduced, Binding::Serial};
    return parts;
  }

 private:
  Loop& inner() { return std::get<Loop>(rows_.steps[0]); }

  void split_one(Reduce& whole, Loop& block, std::vector<Step>& stores, int& state) {
    Reduce part = whole;
    part.axes = {within_};
    part.part = Part::Partial;
    part.first_state = state;
    block.steps.push_back(part);
    whole.axes = {outer_};
    whole.part = Part::Combining;
    whole.values.clear();
    for (Type type : whole.body->state_types) {
      const int buffer =
          add_buffer(kernel_, whole.body->name + "_part", dtype_of(type), numel_, Space::Global);
      stores.push_back(
          Store{buffer, at_, kernel_.values.state(state++, type), -1, StoreMode::Write});
      whole.values.push_back(kernel_.values.load(buffer, type, at_));
    }
  }

  Kernel& kernel_;
  ExprPool& pool_;
  Loop& rows_;
  const Expr *size_, *blocks_, *outer_, *within_, *length_, *at_, *numel_;
};

bool can_split(const Loop& loop) {
  const auto* inner = std::get_if<Loop>(&loop.steps[0]);
  return inner && inner->axes.size() == 1 &&
         std::all_of(inner->steps.begin(), inner->steps.end(), [](const Step& step) {
           const auto* reduce = std::get_if<Reduce>(&step);
           return reduce && reduce->part == Part::Whole;
         });
}

}  // namespace

void split_reduction(Kernel& kernel, size_t step, int64_t size) {
  TAEDA_CHECK_VALUE(is_block(size), "[kernel] a reduction is split into blocks of ", size,
                    ": its tree needs a power of two from ", kReduceChunk, " on");
  TAEDA_CHECK_VALUE(step < kernel.steps.size() && std::holds_alternative<Loop>(kernel.steps[step]),
                    "[kernel] step ", step, " of ", kernel.name, " is no loop");
  Loop& loop = std::get<Loop>(kernel.steps[step]);
  TAEDA_CHECK_VALUE(can_split(loop), "[kernel] step ", step, " of ", kernel.name,
                    " does not begin with whole reductions over one axis");
  for (const Axis& axis : loop.axes) check_params(kernel, axis.extent);
  Loop parts = Splitter(kernel, loop, size).split();
  const auto at = kernel.steps.begin() + static_cast<std::ptrdiff_t>(step);
  kernel.steps.insert(kernel.steps.insert(at, Barrier{}), std::move(parts));
}

}  // namespace taeda::kernel
