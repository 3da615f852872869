// Two axes as one.
#include "taeda/base/error.h"
#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

namespace {

// The stride of the merged axis where an index moves along both as along one; null elsewhere.
const Expr* merged_stride(ExprPool& pool, const Expr* at, const Axis& outer, const Axis& inner) {
  const Expr* far = stride_of(pool, at, outer.var);
  const Expr* near = stride_of(pool, at, inner.var);
  if (!far || !near || far != pool.mul(near, inner.extent)) return nullptr;
  // A stride of one axis that moves with the other is no stride.
  for (const Expr* symbol : symbolic::symbols_of(near))
    if (symbol == outer.var) return nullptr;
  return near;
}

bool uses(const Expr* e, const Expr* symbol) {
  for (const Expr* one : symbolic::symbols_of(e))
    if (one == symbol) return true;
  return false;
}

}  // namespace

bool can_merge_plainly(const Kernel& kernel, const Loop& loop, size_t far, size_t near) {
  const Axis &outer = loop.axes.at(far), &inner = loop.axes.at(near);
  if (outer.role != inner.role || uses(inner.extent, outer.var)) return false;
  for (const Expr* at : indices_of(kernel, loop.steps))
    if ((uses(at, outer.var) || uses(at, inner.var)) &&
        !merged_stride(*kernel.pool, at, outer, inner))
      return false;
  return true;
}

const Expr* merge_axes(Kernel& kernel, Loop& loop, size_t first) {
  TAEDA_CHECK_VALUE(first + 1 < loop.axes.size(), "[kernel] no axis follows axis ", first,
                    " of a loop with ", loop.axes.size());
  const Axis outer = loop.axes[first], inner = loop.axes[first + 1];
  TAEDA_CHECK_VALUE(outer.role == inner.role, "[kernel] axis ", outer.var->name, " is ",
                    role_name(outer.role), ", ", inner.var->name, " ", role_name(inner.role));
  TAEDA_CHECK_VALUE(!uses(inner.extent, outer.var), "[kernel] the extent of ", inner.var->name,
                    " moves with ", outer.var->name);
  ExprPool& pool = *kernel.pool;
  const Expr* merged = fresh_axis(kernel, outer.var->name + inner.var->name);
  // A loop over nothing has no index to take apart.
  const bool is_empty = inner.extent->is_constant(0);
  const Expr* quotient = is_empty ? pool.integer(0) : pool.floor_div(merged, inner.extent);
  const Expr* remainder = is_empty ? pool.integer(0) : pool.modulo(merged, inner.extent);
  auto map = [&](const Expr* at) -> const Expr* {
    if (!uses(at, outer.var) && !uses(at, inner.var)) return at;
    if (const Expr* stride = merged_stride(pool, at, outer, inner)) {
      const Expr* zero = pool.integer(0);
      const Expr* base = substitute(pool, at, {{outer.var, zero}, {inner.var, zero}});
      return pool.add(base, pool.mul(stride, merged));
    }
    return substitute(pool, at, {{outer.var, quotient}, {inner.var, remainder}});
  };
  rewrite_indices(kernel, loop.steps, map);
  for (Step& step : loop.steps)
    if (auto* reduce = std::get_if<Reduce>(&step))
      for (size_t i = 0; i < reduce->axes.size(); ++i)
        if (reduce->axes[i] == outer.var) {
          reduce->axes[i] = merged;
          reduce->axes.erase(reduce->axes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  loop.axes[first] = {merged, pool.mul(outer.extent, inner.extent), outer.role,
                      inner.binding == Binding::Vector ? inner.binding : outer.binding};
  loop.axes.erase(loop.axes.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  return merged;
}

}  // namespace taeda::kernel
