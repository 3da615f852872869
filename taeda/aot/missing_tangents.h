// A backward graph for the gradient of some of the values alone.
//
//   backward(x, y, tangent_0, tangent_1) {       backward(x, y, tangent_0, tangent_1) {
//     a = tangent_0 * x                            a = tangent_0 * x
//     b = tangent_1 / y                    ->      c = a * 2
//     c = (a + b) * 2                              return c, None
//     return c, b                                }
//   }
//
// What comes from missing tangents alone has no part in a sum, and is zeros elsewhere. Zeros for
// the tangents themselves would be NaN where they meet infinite numbers, which eager never
// computes.
#pragma once

#include <vector>

#include "taeda/fx/graph.h"

namespace taeda::aot {

// `given`: by tangent. The graph takes `num_saved` values, then all tangents, and returns
// `num_gradients` gradients first.
IntrusivePtr<fx::Graph> without_missing(const fx::Graph& backward, size_t num_saved,
                                        const std::vector<bool>& given, size_t num_gradients);

}  // namespace taeda::aot
