// Tiles in and out of memory: strided elements of any dtype to contiguous compute types and back.
#pragma once

#include "taeda/backends/cpu/tiles.h"

namespace taeda::cpu {

constexpr ComputeType compute_type(DType t) {
  switch (t) {
    case DType::Double: return ComputeType::F64;
    case DType::ComplexFloat: return ComputeType::C64;
    case DType::ComplexDouble: return ComputeType::C128;
    case DType::UInt64: return ComputeType::U64;
    default: return is_floating(t) ? ComputeType::F32 : ComputeType::I64;
  }
}
constexpr DType compute_dtype(ComputeType c) {
  constexpr DType table[] = {DType::Float,  DType::Double,       DType::Int64,
                             DType::UInt64, DType::ComplexFloat, DType::ComplexDouble};
  return table[static_cast<int>(c)];
}

// A block of memory: rows x cols elements, byte strides between rows and between columns.
struct Block {
  int64_t rows, cols, row_stride, col_stride;
};

// Reads a block of `dtype` into a contiguous tile, or writes a tile back. C++ conversion rules;
// floats to integers truncate (out of range: unspecified), complex to real drops the imaginary
// part.
using LoadFn = void (*)(const char* memory, const Block& block, char* tile);
using StoreFn = void (*)(const char* tile, const Block& block, char* memory);
LoadFn load_fn(DType memory, ComputeType tile);
StoreFn store_fn(ComputeType tile, DType memory);
// The same for mask tiles (bytes 0 and 1).
LoadFn load_mask_fn(DType memory);
StoreFn store_mask_fn(DType memory);

}  // namespace taeda::cpu
