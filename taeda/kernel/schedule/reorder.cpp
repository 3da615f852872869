// Axes of a loop in another order.
#include <algorithm>
#include <numeric>

#include "taeda/base/error.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

void reorder_axes(Kernel&, Loop& loop, const std::vector<size_t>& order) {
  std::vector<size_t> sorted = order, all(loop.axes.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), size_t{0});
  TAEDA_CHECK_VALUE(sorted == all, "[kernel] ", order.size(), " places are no order of ",
                    loop.axes.size(), " axes");
  std::vector<Axis> axes;
  for (size_t place : order) {
    const Axis& axis = loop.axes[place];
    TAEDA_CHECK_VALUE(axis.role == Role::Kept, "[kernel] axis ", axis.var->name, " is ",
                      role_name(axis.role), ": its order belongs to the result");
    for (const Expr* symbol : symbolic::symbols_of(axis.extent))
      for (const Axis& other : loop.axes) {
        const bool is_before =
            std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.var == symbol; });
        TAEDA_CHECK_VALUE(other.var != symbol || is_before, "[kernel] the extent of ",
                          axis.var->name, " moves with ", symbol->name);
      }
    axes.push_back(axis);
  }
  // A vector is the last axis and a parallel one the first: neither keeps its binding elsewhere.
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].binding == Binding::Vector && i + 1 < axes.size())
      axes[i].binding = Binding::Serial;
    if (axes[i].binding == Binding::Parallel && i > 0) axes[i].binding = Binding::Serial;
  }
  loop.axes = std::move(axes);
}

}  // namespace taeda::kernel
