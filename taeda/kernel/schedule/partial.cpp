// A reduction in two stages: partial results through scratch memory, then their combination.
#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

namespace {

// The dtype that keeps a state in memory as it is.
DType state_dtype(Type type) {
  switch (type) {
    case Type::F32: return DType::Float;
    case Type::F64: return DType::Double;
    case Type::U64: return DType::UInt64;
    case Type::I32: return DType::Int32;
    case Type::C64: return DType::ComplexFloat;
    case Type::C128: return DType::ComplexDouble;
    case Type::Mask: return DType::Bool;
    default: return DType::Int64;
  }
}

bool is_reduction(const Step& step) {
  const auto* loop = std::get_if<Loop>(&step);
  return loop && loop->axes.size() == 1 && loop->axes[0].role == Role::Reduced &&
         loop->steps.size() == 1 && std::holds_alternative<Reduce>(loop->steps[0]) &&
         std::get<Reduce>(loop->steps[0]).part == Part::Whole;
}

int next_state(const std::vector<Step>& steps) {
  int next = 0;
  for (const Step& step : steps) {
    if (const auto* loop = std::get_if<Loop>(&step)) next = std::max(next, next_state(loop->steps));
    if (const auto* reduce = std::get_if<Reduce>(&step))
      next = std::max(next, reduce->first_state + static_cast<int>(state_types(*reduce).size()));
    if (const auto* scan = std::get_if<Scan>(&step))
      next = std::max(next, scan->first_state + static_cast<int>(scan->body->result_types.size()));
  }
  return next;
}

}  // namespace

bool can_split_reduction(const Kernel& kernel) {
  if (kernel.steps.size() != 1) return false;
  const auto& loop = std::get<Loop>(kernel.steps[0]);
  bool has_reduction = false, is_after = false;
  for (const Step& step : loop.steps) {
    if (is_reduction(step)) {
      // The values of a reduction must not need the results of one before it.
      for (NodeId id :
           kernel.values.reachable(std::get<Reduce>(std::get<Loop>(step).steps[0]).values))
        if (kernel.values.node(id).op == Op::State) return false;
      if (is_after) return false;
      has_reduction = true;
    } else if (std::holds_alternative<Store>(step)) {
      is_after = true;
    } else {
      return false;
    }
  }
  return has_reduction;
}

void split_reduction(Kernel& kernel, const Expr* parts) {
  TAEDA_CHECK_VALUE(can_split_reduction(kernel),
                    "[kernel] partial results need one loop of reductions and stores");
  ExprPool& pool = *kernel.pool;
  Loop last = std::move(std::get<Loop>(kernel.steps[0]));
  Loop first{last.axes, {}};
  const Expr* part = fresh_axis(kernel, "part");
  first.axes.push_back({part, parts});
  // The place of a kept index and a part in scratch memory.
  const Expr *kept = pool.integer(0), *count = pool.integer(1);
  for (const Axis& axis : last.axes) {
    kept = pool.add(pool.mul(kept, axis.extent), axis.var);
    count = pool.mul(count, axis.extent);
  }
  const Expr* place = pool.add(pool.mul(kept, parts), part);
  int state = next_state(last.steps);
  std::vector<Step> stores;
  for (Step& step : last.steps) {
    if (!is_reduction(step)) continue;
    Loop& whole = std::get<Loop>(step);
    Reduce& combining = std::get<Reduce>(whole.steps[0]);
    const Axis axis = whole.axes[0];
    // A part is a run of neighbours; the last one may be shorter, or empty.
    const Expr* size = pool.ceil_div(axis.extent, parts);
    const Expr* start = pool.mul(part, size);
    const Expr* inner = fresh_axis(kernel, axis.var->name + "_in_part");
    const Expr* rest =
        pool.make(symbolic::ExprOp::Max, pool.integer(0), pool.subtract(axis.extent, start));
    Reduce partial{combining.body, {inner}, combining.values, state, Part::Partial};
    std::vector<Step> inside{partial};
    const symbolic::Replacements moved = {{axis.var, pool.add(start, inner)}};
    rewrite_indices(kernel, inside, [&](const Expr* e) { return substitute(pool, e, moved); });
    first.steps.push_back(Loop{
        {{inner, pool.make(symbolic::ExprOp::Min, size, rest), Role::Reduced}}, std::move(inside)});
    combining.values.clear();
    for (Type type : combining.body->state_types) {
      const int scratch =
          kernel.add_buffer({str("part", state), state_dtype(type), pool.mul(count, parts)});
      stores.push_back(Store{scratch, place, kernel.values.state(state++, type)});
      combining.values.push_back(kernel.values.load(scratch, type, place));
    }
    combining.part = Part::Combining;
    combining.axes = {part};
    whole.axes = {{part, parts, Role::Reduced}};
  }
  for (Step& store : stores) first.steps.push_back(std::move(store));
  kernel.steps.clear();
  kernel.steps.push_back(std::move(first));
  kernel.steps.push_back(Barrier{});
  kernel.steps.push_back(std::move(last));
}

}  // namespace taeda::kernel
