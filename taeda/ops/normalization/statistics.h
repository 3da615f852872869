// Running statistics, which operators change beside their results.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::normalization {

// Writes the new value of a statistic. It is no part of the graph: writing it counts no version,
// and grad and jvp levels, which wrap the new value, have no say in it. Levels that must see the
// write get it.
void write_statistic(const Tensor& running, const Tensor& moved);

}  // namespace taeda::normalization
