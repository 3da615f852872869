// What moves or combines whole tiles: reductions by their lanes, conversions of bfloat16,
// transposed blocks.
#pragma once

#include <cstdint>

#include "taeda/kernel/expr.h"
#include "taeda/kernel/interpret/primitives.h"
#include "taeda/kernel/ir/reduce_body.h"

namespace taeda::kernel {

// lanes[s] holds state s of all lanes of a tree; rows of as many values are lifted and combined
// into them. A tile of each value.
using FoldPrimitive = void (*)(char* const* lanes, const char* const* values, int64_t rows);
// Combines all lanes as a tree, i with i + half, into the first.
using ClosePrimitive = void (*)(char* const* lanes);
// Combines n values into one state after another: results[r] + i is what finish gives after value
// i.
using ScanPrimitive = void (*)(char* const* states, const char* values, int64_t n,
                               char* const* results);
// to[j * to_stride + i] = from[i * from_stride + j] for i < m and j < n; strides in elements.
using TransposePrimitive = void (*)(const char* from, int64_t from_stride, char* to,
                                    int64_t to_stride, int64_t m, int64_t n);

struct FoldRow {
  const char* name;  // of a reduction body
  FoldPrimitive fold[kNumTypes];
  ClosePrimitive close[kNumTypes];
  ScanPrimitive scan[kNumTypes];
};
struct FoldTable {
  FoldRow rows[8];
  TileLoad load_bfloat16;  // of neighbours
  TileStore store_bfloat16;
  TransposePrimitive transpose[4];  // of elements of 1, 2, 4 and 8 bytes
};

// Of this machine; null where a body has none.
FoldPrimitive find_fold(const ReduceBody& body);
ClosePrimitive find_close(const ReduceBody& body);
ScanPrimitive find_scan(const ReduceBody& body);
TransposePrimitive find_transpose(int item);
// Neighbours in memory as a tile and back.
TileLoad find_dense_load(DType dtype, Type type);
TileStore find_dense_store(DType dtype, Type type);

}  // namespace taeda::kernel
