// Inputs that stay as they are from run to run.
//
//   scale = weight / sqrt(variance)     once: plan(weight, variance) -> scale
//   y = x * scale                       each run: plan(x, weight, variance, scale) -> y
//
// Note [Frozen inputs]: what a graph computes from frozen inputs and attributes alone is a plan of
// its own. It runs at the first call; its results are kept. A run compares frozen inputs with those
// of the kept results: other memory, or a version that counts a write since, and the plan runs
// again. So a frozen input may change, at the cost of that run; a write that no version counts (by
// way of .data, or of an array that shares the memory) is not seen. For tensors of inference mode,
// which have no versions, nothing is kept. Filters of convolutions are kept with channels
// innermost, where asked for (Note [Layouts]).
#pragma once

#include "taeda/inductor/segments.h"

namespace taeda::inductor {

// The key under which nodes of frozen inputs and attributes have a value.
constexpr const char* kFrozenKey = "frozen";

struct FreezeOptions {
  std::vector<bool> is_frozen;  // by placeholder; further ones are not
  bool lays_out_filters = false;
};

// The plan of frozen inputs is the first one of the result, if there is one.
TAEDA_API Segments compile_frozen(const fx::Graph& graph, fx::AttributeReader attributes,
                                  const FreezeOptions& frozen, const PlanOptions& options = {});

}  // namespace taeda::inductor
