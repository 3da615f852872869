// Everything about a run that follows from the sizes of its inputs.
#pragma once

#include <bit>
#include <vector>

#include "taeda/dispatch/value.h"
#include "taeda/inductor/kernel_step.h"
#include "taeda/inductor/memory.h"

namespace taeda::inductor {

// A number as programs compute it: a float is its bits.
inline dispatch::Value number_value(const symbolic::Expr* number, int64_t value) {
  return number->kind == SymKind::Float ? dispatch::Value(std::bit_cast<double>(value))
                                        : dispatch::Value(value);
}

// All that a run looks at to make the tensor of a value.
struct TensorShape {
  IntVec sizes, strides;
  int64_t offset = 0;
  int memory = -1;
  DType dtype;
  KeySet flags;  // conjugate, negative
};

// Note [Named places]: as_strided names places of a storage, so what it gives depends on more than
// the sizes of its tensor: on where that begins, how it lies, and how much memory there is.
//
//   x.as_strided((3, 4), (2, 1), 1)       8 elements of x's storage, behind the first
//
// Views in a plan are strides over the memory of the traced tensor. A run whose tensor lies
// otherwise or has less memory is given to eager operators, which look at the storage or refuse.
struct Reach {
  int root;       // the value whose storage it is
  int64_t bytes;  // from the start of the storage to the end of a view
};

// Worked out once for each set of sizes, and shared by runs of them. A plan keeps the latest
// kMaxLayouts.
struct RunLayout {
  static constexpr size_t kMaxLayouts = 16;

  std::vector<int64_t> symbols;
  std::vector<TensorShape> shapes;                      // by value
  std::vector<int64_t> numels;                          // by memory
  std::vector<Reach> reaches;                           // Note [Named places]
  bool has_empty_extent = false;                        // of an index that a kernel reads
  ArenaLayout arena;                                    // offsets of temporaries
  std::vector<KernelLaunch> launches;                   // by step
  std::vector<std::vector<KernelLaunch>> singles;       // by step: of kernels around its own
  std::vector<std::vector<dispatch::Value>> arguments;  // by step: of a call; None for tensors
  std::vector<int64_t> numbers;                         // of results
};

}  // namespace taeda::inductor
