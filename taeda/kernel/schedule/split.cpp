// One axis as blocks of a fixed size and a loop inside of them.
#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

void split_axis(Kernel& kernel, Loop& loop, size_t at, int64_t factor) {
  TAEDA_CHECK_VALUE(at < loop.axes.size(), "[kernel] there is no axis ", at, " in a loop with ",
                    loop.axes.size());
  TAEDA_CHECK_VALUE(factor > 0, "[kernel] an axis is split into blocks of ", factor);
  const Axis axis = loop.axes[at];
  TAEDA_CHECK_VALUE(axis.role == Role::Kept, "[kernel] axis ", axis.var->name, " is ",
                    role_name(axis.role), ": only kept axes are split");
  ExprPool& pool = *kernel.pool;
  const Expr* size = pool.integer(factor);
  const Expr* outer = fresh_axis(kernel, axis.var->name + "_outer");
  const Expr* inner = fresh_axis(kernel, axis.var->name + "_inner");
  const Expr* start = pool.mul(size, outer);
  const Expr* rest = pool.subtract(axis.extent, start);
  // The last block is shorter, unless the blocks are known to fit.
  const bool fits = pool.modulo(axis.extent, size)->is_constant(0);
  const Expr* length = fits ? size : pool.make(symbolic::ExprOp::Min, size, rest);
  const symbolic::Replacements parts = {{axis.var, pool.add(start, inner)}};
  auto map = [&](const Expr* e) { return substitute(pool, e, parts); };
  rewrite_indices(kernel, loop.steps, map);
  for (size_t i = at + 1; i < loop.axes.size(); ++i) loop.axes[i].extent = map(loop.axes[i].extent);
  const bool is_outer = axis.binding == Binding::Parallel;
  loop.axes[at] = {outer, pool.ceil_div(axis.extent, size), axis.role,
                   is_outer ? axis.binding : Binding::Serial};
  loop.axes.insert(loop.axes.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                   {inner, length, axis.role, is_outer ? Binding::Serial : axis.binding});
}

}  // namespace taeda::kernel
