// Fusion: units sorted into groups, one kernel each.
//
// Note [Domains]: a group goes through one index space, a list of axes. Some of them belong to
// rows, where the group has reductions. A unit of the group goes through all axes, or through those
// that are no part of a row; each of its dimensions is a product of neighbouring axes. Axes are
// split as finely as the units need, so that a value of (batch*time, width) and one of
// (batch, time, width) share a group, whatever the sizes are.
#pragma once

#include "taeda/inductor/program.h"

namespace taeda::inductor {

struct DomainAxis {
  const Expr* var;
  const Expr* extent;
  bool is_row = false;  // reduced
};

struct GroupUnit {
  int unit;
  Place at;         // its dimensions in the axes of the group
  bool is_per_row;  // goes through the kept axes alone
  int pass = 0;     // of the loops over a row, the one that computes it
};

struct Group {
  std::vector<GroupUnit> units;
  std::vector<DomainAxis> axes;
  bool has_rows = false;
  int time = 0;  // groups of a lesser time run before
};

// Groups in the order in which they run.
TAEDA_API std::vector<Group> fuse(const Program& program);

}  // namespace taeda::inductor
