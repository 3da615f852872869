// Loops that do nothing but transpose: they run through registers, block by block.
//
//   loop j < columns, i < rows
//     store tile[columns*i + j] = %0        with value %0 = load x[rows*j + i]
#pragma once

#include <optional>

#include "taeda/kernel/ir/kernel.h"

namespace taeda::kernel {

// to[to_stride * b + a] = from[from_stride * a + b] over two axes, both strides free of them.
struct Transposition {
  int from, to;                 // buffers
  const Expr *from_at, *to_at;  // of the first element
  const Expr *from_stride, *to_stride;
  size_t a, b;  // places of the axes: the last two, in any order
  int item;     // bytes per element: 1, 2, 4 or 8
};

// Null where the loop does anything else. An element goes from memory to memory as it is: NaN of a
// short float keeps its payload.
std::optional<Transposition> find_transposition(const Kernel& kernel, const Loop& loop);

}  // namespace taeda::kernel
