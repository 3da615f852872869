// Fitting the dimensions of a unit to the axes of a group.
#pragma once

#include <optional>

#include "taeda/inductor/fuse.h"

namespace taeda::inductor {

struct Fit {
  std::vector<DomainAxis> axes;     // split where the unit needs it
  Place at;                         // the unit's dimensions
  symbolic::Replacements replaced;  // axes that were split, in the new ones
};

// A unit with these sizes over the axes; those of rows are passed over where it `is_per_row`. Bit d
// of `rows`: dimension d is reduced. Nothing where it does not fit. `next` numbers new axes.
std::optional<Fit> fit(symbolic::ExprPool& pool, const std::vector<DomainAxis>& axes,
                       const Place& sizes, uint64_t rows, bool is_per_row, int& next);
// The axes of a group with one unit.
Fit first_fit(symbolic::ExprPool& pool, const Place& sizes, uint64_t rows, int& next);

}  // namespace taeda::inductor
