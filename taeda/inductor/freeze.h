// Inputs that stay as they are from run to run.
//
//   scale = weight / sqrt(variance)     once: plan(weight, variance) -> scale
//   y = x * scale                       each run: plan(x, weight, variance, scale) -> y
//
// Note [Frozen inputs]: what a graph computes from frozen inputs and attributes alone is a plan of
// its own. It runs at the first call; its results are kept. A run compares frozen inputs with those
// of the kept results: other memory, or a version that counts a write since, and the plan runs
// again. So a frozen input may change, at the cost of that run; a write that no version counts (by
// way of .data, of an array that shares the memory, or to a tensor of inference mode) is not seen,
// but for tensors of inference mode, for which nothing is kept.
#pragma once

#include "taeda/inductor/segments.h"

namespace taeda::inductor {

// `is_frozen`: by placeholder; further placeholders are not frozen. The plan of frozen inputs is
// the first one of the result, if there is one.
TAEDA_API Segments compile_frozen(const fx::Graph& graph, fx::AttributeReader attributes,
                                  const std::vector<bool>& is_frozen);

}  // namespace taeda::inductor
