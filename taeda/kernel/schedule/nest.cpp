// The last axes of a loop as a loop inside.
#include "taeda/base/error.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

void nest_axes(Kernel&, Loop& loop, size_t first) {
  TAEDA_CHECK_VALUE(first > 0 && first < loop.axes.size(), "[kernel] a loop with ",
                    loop.axes.size(), " axes is not cut before axis ", first);
  // A loop that combines names all of its axes.
  for (const Axis& axis : loop.axes)
    TAEDA_CHECK_VALUE(axis.role == Role::Kept, "[kernel] axis ", axis.var->name, " is ",
                      role_name(axis.role), ": only loops over kept axes are cut");
  Loop inner;
  const auto cut = loop.axes.begin() + static_cast<std::ptrdiff_t>(first);
  inner.axes.assign(cut, loop.axes.end());
  inner.steps = std::move(loop.steps);
  loop.axes.erase(cut, loop.axes.end());
  loop.steps.clear();
  loop.steps.push_back(std::move(inner));
}

}  // namespace taeda::kernel
