// The one driver of reductions: strides, dtype conversion, threads and the cascade around a
// ReduceOp.
//
// Every layout follows Note [Reduction tree] over the row-major index of the reduced dimensions.
// Where neighbours in memory belong to one result, lines are reduced in vectors; where they belong
// to different results, columns are folded side by side; elements that are neither, or not of the
// compute type, come through a tile. Threads take whole results or whole subtrees of the cascade.
#pragma once

#include "taeda/backends/cpu/reduce/line_kernels.h"
#include "taeda/backends/cpu/reduce/reduce_shape.h"
#include "taeda/base/function_ref.h"

namespace taeda::cpu {

// Lines that are finished at once, at most.
constexpr int64_t kMaxReduceLines = 1024;
// Where the results of neighbouring lines go, byte strides between them.
struct ReduceOutputs {
  char* at[2];
  int64_t stride[2];
};
using FinishFn = FunctionRef<void(const char* states, int64_t lines, const ReduceOutputs& to)>;

// Reduces `self` over the dimensions in `bits` into the outs (one or two); `finish` makes results
// of states. Uses scratch memory on the stack, and of the heap where a line has several chunks.
void run_reduction(const ReduceOp& op, TileSource source, const Tensor& self, uint64_t bits,
                   bool keepdim, Span<const Tensor*> outs, FinishFn finish);

// The states of a few lines of n elements of the compute type that lie one behind the other, on the
// caller's thread.
void reduce_plain_lines(const ReduceOp& op, const void* p, int64_t lines, int64_t n, void* states);

}  // namespace taeda::cpu
