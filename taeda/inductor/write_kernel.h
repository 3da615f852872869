// A group of units as one kernel.
#pragma once

#include "taeda/inductor/fuse.h"

namespace taeda::inductor {

// Where in its memory the element at a place lies.
const Expr* element_index(symbolic::ExprPool& pool, const Geometry& g, const Place& place);

struct GroupKernel {
  kernel::Kernel kernel;
  std::vector<int> memories;  // of the program, in the order of the kernel's buffers
};

// Values that others read have memory by now (plan_memory).
TAEDA_API GroupKernel write_kernel(const Program& program, const Group& group,
                                   const std::string& name);

}  // namespace taeda::inductor
