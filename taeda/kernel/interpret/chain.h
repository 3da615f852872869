// Chains of operations in registers: a block of a tile is loaded once, goes through all of them,
// and is stored once or combined into the lanes of a reduction.
//
// The block is the left operand of every step. What stands beside it is a tile, one number per line
// of the tile, memory of bfloat16, or the lanes of a reduction.
#pragma once

#include <cstdint>

#include "taeda/kernel/ir/reduce_body.h"

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
  Rsqrt,
  Exp,
  Log,
  Tanh,
  Erf,
  FoldSum,
  FoldProd,
  FoldMax,
  FoldMin,
};

enum class ChainOperand : uint8_t { Tile, Uniform, BFloat16, Lanes };

constexpr int kMaxChainSteps = 64;
struct ChainStep {
  ChainOp op;
  ChainOperand kind;
  char* operand;  // of the first element
  int64_t pitch;  // bytes from line to line
};

// Runs all steps for n elements of each line. An operand may be where a result is stored. Element i
// of a line is folded into lane i modulo the number of lanes.
using ChainPrimitive = void (*)(const ChainStep* steps, int count, int64_t n, int64_t lines);

// By type: F32 and F64.
struct ChainTable {
  ChainPrimitive run[kNumTypes];
};
// Of this machine; null for other types.
ChainPrimitive find_chain(Type type);

// The step of an operation with the block as operand `side` (0 or 1); false where it has none.
bool find_chain_op(Op op, int side, ChainOp* step);
// The step that combines the block into the lanes of a reduction; false where it has none.
bool find_chain_fold(const ReduceBody& body, ChainOp* step);

}  // namespace taeda::kernel
