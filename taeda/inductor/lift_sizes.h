// Sizes as numbers of a launch.
//
// Note [Lifted sizes]: a kernel is scheduled while its strides and extents are expressions of the
// program's sizes, from which follows what may be merged. Then every expression of sizes alone
// becomes a parameter, whose value a run computes once per set of sizes:
//
//   loop i < s0, j < max(1, s1//2 + 4)          loop i < p0, j < p1
//     store y[i*max(1, s1//2 + 4) + j] = ..       store y[p1*i + j] = ..
//
// Such kernels are short, and those of layers that differ in nothing but sizes are one kernel.
// Constant sizes and strides become parameters, too, where the code of the loops is the same for
// all of them: where nothing is unrolled, kept in local memory or divided by them and no row is
// short. Then axes have numbers for names, as names of axes tell their constant extents. In kernels
// of one axis nothing but the number of elements depends on its extent, however small that is.
// Whole numbers that values are computed with, as the count that a mean divides by, are parameters
// in all kernels.
#pragma once

#include "taeda/kernel/ir/kernel.h"

namespace taeda::inductor {

// Gives the kernel parameters of its own; returns what each of them is in terms of the old ones.
std::vector<const symbolic::Expr*> lift_sizes(kernel::Kernel& kernel);

}  // namespace taeda::inductor
