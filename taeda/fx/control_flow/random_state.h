// Random numbers of regions that gradients run again.
//
// Note [Random regions]: the gradient of a region runs the region again, which must draw what it
// drew before. So a call that is recorded keeps the state of the generator before each run of a
// region that draws, and the gradient's region sets it for as long as the other one runs:
//
//   now = exchange_random_state(x, state)
//   ...                                    what the region calls
//   exchange_random_state(x, now)
//
// The state is a tensor of bytes, so it is stacked and saved as other values are.
#pragma once

#include "taeda/fx/regions.h"

namespace taeda::fx {

// Whether a region, or one inside of it, draws random numbers on operands like these. What is no
// plain operator is traced for it.
bool draws(const RegionValue& region, const Values& operands);

// The state of the generator of these operands' device, as it is when the call runs.
Tensor random_state(const Values& operands);

// What a region gives with the numbers that it drew from a state on; the generator goes on as if it
// had not run.
Values run_from(const Tensor& state, const RegionValue& region, const Values& operands);

}  // namespace taeda::fx
