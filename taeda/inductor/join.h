// Kernels that run as one: Note [Joined kernels] in kernel_step.h.
//
//   kernel0 (step0 + 1)        kernel0 (weight0 ..., weight1 ...),
//   kernel1 (step1 + 1)   ->     led by (step0 + 1, step1 + 1)
//   kernel2 (weight0 ...)
//   kernel3 (weight1 ...)
#pragma once

#include "taeda/inductor/kernel_step.h"

namespace taeda::inductor {

// A group on its way to a step of the plan.
struct GroupStep {
  Group group;
  // In the order in which they run: the group's own among those of one element that share its
  // launch. None where the group calls something.
  std::vector<std::unique_ptr<KernelStep>> kernels;
  size_t own = 0;
};

// Joins equal kernels of groups that do not depend on each other, and puts kernels of one element
// into the launches of their neighbours. Takes time linear in steps and their memories.
void join_kernels(const Program& program, std::vector<GroupStep>& steps);

}  // namespace taeda::inductor
