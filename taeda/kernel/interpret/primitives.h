// The primitives of the tile interpreter: one loop over contiguous tiles per operation and type.
//
// They are built from the same functions as eager kernels (Vec, run_tile), once per instruction
// set, so an interpreted kernel returns the bits of a printed one.
#pragma once

#include <cstdint>

#include "taeda/kernel/expr.h"

namespace taeda::kernel {

// ptrs[0] is the result, then come the operands, all contiguous; the result may be an operand.
// Masks are bytes.
using TilePrimitive = void (*)(char* const* ptrs, int64_t n, const void* scalars);

// The primitive of an operation over operands of a type on this machine; null where it has none.
TilePrimitive find_primitive(Op op, Type type);
TilePrimitive find_cast(Type from, Type to);

// Elements between memory and tiles. Strides are in elements.
using TileLoad = void (*)(const char* memory, int64_t stride, int64_t n, char* tile);
using TileGather = void (*)(const char* memory, const int64_t* at, int64_t n, char* tile);
using TileStore = void (*)(const char* tile, int64_t stride, int64_t n, char* memory);
using TileScatter = void (*)(const char* tile, const int64_t* at, int64_t n, char* memory);
struct StoragePrimitives {
  TileLoad load;
  TileGather gather;
  TileStore store;
  TileScatter scatter;
  // Adds to what is there, one element after the other: places may repeat. Null for masks.
  TileScatter scatter_add;
  TilePrimitive round;  // to the dtype and back; null where a value has nothing to round
};
// For a dtype and a type that it holds.
const StoragePrimitives& find_storage(DType dtype, Type type);

// Elements of the random stream; operands are those of a Random node, one per element.
void draw_tile(Draw draw, const char* const* operands, const int64_t* elements, int64_t n,
               char* tile);

// One table per instruction set.
struct PrimitiveTable {
  TilePrimitive operations[kNumOps][kNumTypes];
};

}  // namespace taeda::kernel
