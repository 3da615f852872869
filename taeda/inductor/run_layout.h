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

// Worked out once for each set of sizes, and shared by runs of them. A plan keeps the latest
// kMaxLayouts.
struct RunLayout {
  static constexpr size_t kMaxLayouts = 16;

  std::vector<int64_t> symbols;
  std::vector<TensorShape> shapes;                      // by value
  std::vector<int64_t> numels;                          // by memory
  ArenaLayout arena;                                    // offsets of temporaries
  std::vector<KernelLaunch> launches;                   // by step
  std::vector<std::vector<KernelLaunch>> singles;       // by step: of kernels around its own
  std::vector<std::vector<dispatch::Value>> arguments;  // by step: of a call; None for tensors
  std::vector<int64_t> numbers;                         // of results
};

}  // namespace taeda::inductor
