// Writes to parts of inputs, where they lie.
//
//   new = index_put(cache, [at], rows)              index_put_(cache, [at], rows)
//   y = attention(q, new)                  ->       y = attention(q, cache)
//   copy_(cache, new)
//
// Note [Partial writes]: an operator that gives its first argument with some elements replaced
// would copy the rest twice over: into its result, and from there into the input. Where that
// argument is an input which nothing else reads, and the result is what the input becomes, the plan
// calls the operator's form in place. An error of a run must leave inputs as they were, so the
// elements that are replaced are read before, and written back where the run does not come to its
// end.
#pragma once

#include "taeda/inductor/program.h"

namespace taeda::inductor {

// How an operator that replaces elements does so in place, and how they are kept. Reading takes the
// first `num_places` arguments of the call, and writing back the same, then what was read.
struct PartialWriter {
  const dispatch::Operator* op;
  dispatch::Operator *write, *read, *write_back;
  size_t num_places;
  std::vector<dispatch::Value> more_to_read = {}, more_to_write_back = {};
};

// To be called once, before units are found.
void write_parts_in_place(Program& program);

}  // namespace taeda::inductor
