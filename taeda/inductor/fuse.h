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

  // ---- Note [Finished blocks] ----
  int product = -1;                   // the unit whose blocks the group finishes; -1 for none
  std::vector<const Expr*> columns;   // axes, and sizes, of the blocks' columns
  bool are_channels_columns = false;  // of a convolution
  const Expr* element = nullptr;      // where in its memory an element of the result lies
  Place product_at;                   // dimensions of the result in the axes of the group
  bool is_only_reader = false;        // of the result
  bool is_in_place = false;           // a value of the group takes the memory of the result

  // ---- Note [Filled blocks] ----
  std::vector<Group> operands;  // of the call, or of the product
  int argument = -1;            // that the group fills; -1 for none
  bool is_by_columns = false;   // how a block of it lies in memory

  // ---- Note [Joined kernels] ----
  std::vector<Group> joined;  // that run in the same kernel, as its members or before it
};

struct Fused {
  std::vector<Group> groups;  // in the order in which they run
  // Units that write to inputs, and read what another group overwrites before. Their sources are to
  // be stored, and units to be found again.
  std::vector<int> misplaced;
};
TAEDA_API Fused fuse(const Program& program);

}  // namespace taeda::inductor
