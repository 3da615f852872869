// How an axis is run.
#include "taeda/base/error.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

namespace {

Loop* find_loop(std::vector<Step>& steps, const std::string& axis) {
  for (Step& step : steps) {
    auto* loop = std::get_if<Loop>(&step);
    if (!loop) continue;
    for (const Axis& one : loop->axes)
      if (one.var->name == axis) return loop;
    if (Loop* inner = find_loop(loop->steps, axis)) return inner;
  }
  return nullptr;
}

}  // namespace

Loop& loop_of(Kernel& kernel, const std::string& axis) {
  Loop* loop = find_loop(kernel.steps, axis);
  TAEDA_CHECK_VALUE(loop, "[kernel] ", kernel.name, " has no axis ", axis);
  return *loop;
}

void bind_axis(Kernel& kernel, Loop& loop, size_t axis, Binding binding) {
  TAEDA_CHECK_VALUE(axis < loop.axes.size(), "[kernel] there is no axis ", axis, " in a loop with ",
                    loop.axes.size());
  const Binding before = loop.axes[axis].binding;
  loop.axes[axis].binding = binding;
  // The verifier knows which axes can be run in which way.
  try {
    verify(kernel);
  } catch (const Error&) {
    loop.axes[axis].binding = before;
    throw;
  }
}

}  // namespace taeda::kernel
