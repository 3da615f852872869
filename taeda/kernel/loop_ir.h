// The first loop IR: one loop nest of loads, expressions, reductions and stores.
//
//   kernel row_sum_exp(params 2)
//   axis i0 : p0
//   axis i1 : p1 reduce
//   load input 0 = x[i0 * p1 + i1] : f32
//   reduce input 1 = sum %1
//   store y[i0] = %2 : f32
//   ...followed by the expressions
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "taeda/base/export.h"
#include "taeda/kernel/expr.h"

namespace taeda::kernel {

// A size, stride or offset: a constant, or the kernel parameter of that number.
struct Dim {
  int param = -1;
  int64_t value = 0;

  static Dim constant(int64_t value) { return {-1, value}; }
  static Dim parameter(int param) { return {param, 0}; }
  bool is(int64_t constant) const { return param < 0 && value == constant; }
};

struct Axis {
  std::string name;
  Dim extent;
};

struct Buffer {
  std::string name;
  Type type;
};

// Element offset + sum of axis index * stride into a buffer; one stride an axis, in elements.
struct Access {
  int buffer = 0;
  std::vector<Dim> strides;
  Dim offset;
};

struct Load {
  int input;  // the Op::Input node that it fills
  Access access;
};

enum class ReduceOp : uint8_t { Sum, Prod, Max, Min };

// Combines `value` over the kernel's reduced axes, in row-major order, by Note [Reduction tree].
// The result is Op::Input `input` in the roots that are stored.
struct Reduction {
  ReduceOp op;
  NodeId value;
  int input;
  NodeId init = -1;  // a constant node; without it the op's identity
};

struct Store {
  Access access;
  NodeId root;
};

// The first axes are kept, the last num_reduced ones are reduced. Loads may use all axes, stores
// only the kept ones. Buffers are passed in order, written ones included.
struct LoopKernel {
  std::string name;
  int num_params = 0;
  int num_reduced = 0;
  std::vector<Axis> axes;
  std::vector<Buffer> buffers;
  std::vector<Load> loads;
  std::vector<Reduction> reductions;
  std::vector<Store> stores;

  int num_kept() const { return static_cast<int>(axes.size()) - num_reduced; }
};

TAEDA_API const char* reduce_name(ReduceOp op);
// The identity of op in a type, as a constant node.
TAEDA_API NodeId reduce_identity(ExprGraph& graph, ReduceOp op, Type type);

// Throws ValueError or TypeError naming the first rule that the kernel breaks.
TAEDA_API void verify(const LoopKernel& kernel, const ExprGraph& graph);
// The text of the opening comment; the same for the same kernel.
TAEDA_API std::string dump(const LoopKernel& kernel, const ExprGraph& graph);

}  // namespace taeda::kernel
