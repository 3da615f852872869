// Tiles in and out of memory: strided elements of any dtype to contiguous compute types and back.
#pragma once

#include <array>

#include "taeda/backends/cpu/pointwise/tiles.h"

namespace taeda::cpu {

namespace convert_detail {
inline constexpr auto kComputeTypes = [] {
  std::array<ComputeType, kNumDTypes + 1> table{};
  for (int i = 0; i <= kNumDTypes; ++i)
    table[i] = is_floating(static_cast<DType>(i)) ? ComputeType::F32 : ComputeType::I64;
  table[static_cast<int>(DType::Double)] = ComputeType::F64;
  table[static_cast<int>(DType::ComplexFloat)] = ComputeType::C64;
  table[static_cast<int>(DType::ComplexDouble)] = ComputeType::C128;
  table[static_cast<int>(DType::UInt64)] = ComputeType::U64;
  return table;
}();
inline constexpr DType kComputeDTypes[] = {DType::Float,        DType::Double,
                                           DType::Int64,        DType::UInt64,
                                           DType::ComplexFloat, DType::ComplexDouble};
}  // namespace convert_detail

constexpr ComputeType compute_type(DType t) {
  return convert_detail::kComputeTypes[static_cast<int>(t)];
}
constexpr DType compute_dtype(ComputeType c) {
  return convert_detail::kComputeDTypes[static_cast<int>(c)];
}

// A block of memory: rows x cols elements, byte strides between rows and between columns.
struct Block {
  int64_t rows, cols, row_stride, col_stride;
};

// Reads a block of `dtype` into a contiguous tile, or writes a tile back. C++ conversion rules;
// floats to integers truncate (Note [Numbers beyond integers]), complex to real drops the
// imaginary part.
using LoadFn = void (*)(const char* memory, const Block& block, char* tile);
using StoreFn = void (*)(const char* tile, const Block& block, char* memory);
TAEDA_API LoadFn load_fn(DType memory, ComputeType tile);
TAEDA_API StoreFn store_fn(ComputeType tile, DType memory);
// The same for mask tiles (bytes 0 and 1).
LoadFn load_mask_fn(DType memory);
StoreFn store_mask_fn(DType memory);

}  // namespace taeda::cpu
