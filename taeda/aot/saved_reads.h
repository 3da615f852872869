// Which saved values a backward graph needs for which gradients that it is given.
#pragma once

#include <vector>

#include "taeda/fx/graph.h"

namespace taeda::aot {

// By saved value, by tangent: whether the two meet in a node, so that eager's backward would read
// the value where it is given this tangent. The graph takes `num_saved` values, then the tangents.
// Empty where each value is read for each tangent.
std::vector<std::vector<bool>> saved_reads(const fx::Graph& backward, size_t num_saved);

}  // namespace taeda::aot
