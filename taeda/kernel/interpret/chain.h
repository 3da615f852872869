// Chains of cheap operations in registers: a block of a tile is loaded once, goes through all of
// them, and is stored once.
//
// The block is the left operand of every step. What stands beside it is a tile or one number for
// all elements.
#pragma once

#include <cstdint>

#include "taeda/kernel/expr.h"

namespace taeda::kernel {

// Load and Store move the block, those of bfloat16 converting it; the reversed forms have the block
// on their right.
enum class ChainOp : uint8_t {
  Load,
  LoadBFloat16,
  Store,
  StoreBFloat16,
  RoundBFloat16,
  Add,
  Mul,
  Sub,
  SubReversed,
  Div,
  DivReversed,
  Maximum,
  MaximumReversed,
  Minimum,
  MinimumReversed,
  Neg,
  Abs,
  Sqrt,
  Square,
};

struct ChainStep {
  ChainOp op;
  bool is_uniform;  // the operand is one number
  char* operand;    // of the first element
};

// Runs all steps for n elements. An operand may be where a result is stored.
using ChainPrimitive = void (*)(const ChainStep* steps, int count, int64_t n);

// By type: F32 and F64.
struct ChainTable {
  ChainPrimitive run[kNumTypes];
};
// Of this machine; null for other types.
ChainPrimitive find_chain(Type type);

// The step of an operation with the block as operand `side` (0 or 1); false where it has none.
bool find_chain_op(Op op, int side, ChainOp* step);

}  // namespace taeda::kernel
