// Chains of cheap operations in registers: a block of a tile is loaded once, goes through all of
// them, and is stored once.
//
// The block is the left operand of every step. What stands beside it is a tile, one number for all
// elements, or memory of bfloat16.
#pragma once

#include <cstdint>

#include "taeda/kernel/expr.h"

namespace taeda::kernel {

// Load and Store move the block; the reversed forms have the block on their right.
enum class ChainOp : uint8_t {
  Load,
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

enum class ChainOperand : uint8_t { Tile, Uniform, BFloat16 };

struct ChainStep {
  ChainOp op;
  ChainOperand kind;
  char* operand;  // of the first element
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
