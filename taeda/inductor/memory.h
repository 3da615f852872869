// Which values of a program lie in memory, and where in the arena.
#pragma once

#include "taeda/inductor/fuse.h"

namespace taeda::inductor {

// Gives memory to kept values, to results of calls, and to values that another group reads.
TAEDA_API void assign_memory(Program& program, const std::vector<Group>& groups);

// A stretch of the arena between two steps of the plan, both included.
struct Lifetime {
  int first, last;
  int64_t bytes;
};
struct ArenaLayout {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};
// Offsets at which stretches that live at the same time do not overlap. Greater ones are placed
// first, each in the lowest gap; of more than a few hundred, each in the order of the steps in the
// smallest gap, which takes less time and little more memory.
TAEDA_API ArenaLayout lay_out(const std::vector<Lifetime>& lifetimes);

}  // namespace taeda::inductor
