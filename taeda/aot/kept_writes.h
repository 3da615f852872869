// Kept writes: writes to inputs that a compiler sees, in the forward graph instead of the epilogue.
//
//   forward(x, buf) {         epilogue(x, buf, add, mul) {        forward(x, buf) {
//     add = buf + 1             copy_(buf, add)            ->       add = buf + 1
//     mul = x * add             return mul                          mul = x * add
//     return add, mul         }                                     copy_(buf, add)
//   }                                                               return mul
//                                                                 }
//
// Writes stand behind everything else. One that autograd records stays in the epilogue, and so does
// one to an input whose sizes or strides the program changes.
#pragma once

#include <optional>
#include <unordered_set>

#include "taeda/fx/retrace.h"

namespace taeda::aot {

struct KeptWrites {
  IntrusivePtr<fx::Graph> forward, epilogue;
  // By result of the forward before: its place among those of the new one. Nothing where only the
  // write read it.
  std::vector<std::optional<size_t>> places;
};

// `forward` returns the values of the traced program, which has an epilogue, and maybe more.
// `needed`: results that are read elsewhere, too. `is_plain`: writes to inputs that have symbolic
// sizes or whose elements do not lie dense stay.
TAEDA_API KeptWrites keep_writes(const fx::Retraced& traced, const fx::Graph& forward,
                                 const std::unordered_set<size_t>& needed = {},
                                 bool is_plain = false);

}  // namespace taeda::aot
