// Copies between memory of one element size.
#pragma once

#include "taeda/backends/cpu/pointwise/loop_nest.h"

namespace taeda::cpu {

// Copies operand 1 of the nest into operand 0, bit by bit; strides may be negative.
void copy_same(const LoopNest& nest, int64_t item);

}  // namespace taeda::cpu
