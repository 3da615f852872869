// Parts of control-flow calls that several of them share.
#pragma once

#include "taeda/fx/control_flow/operators.h"

namespace taeda::fx {

// The number of slices.
SymInt length_of(const Values& xs, const char* op);
// Slice `i` of each tensor along its first dimension.
Values slices(const Values& xs, int64_t i);

// One stack for each of the results, whose parts come step by step.
class Stacks {
 public:
  void add(Span<Value> results);
  Values finish() const;

 private:
  std::vector<std::vector<Tensor>> parts_;
};

// [first, first + count) of a list.
Values part(const Values& values, size_t first, size_t count);

inline bool is_integer(const Value& v) { return v.is<int64_t>() || v.is<SymInt>(); }

// The tensor inside the wrappers of all levels.
Tensor values_inside(Tensor t);

// Picks from the results of two regions by a truth value, which may differ in a batch.
Values selected(const Tensor& pred, const Values& a, const Values& b);

// All prefixes, combined as a tree by a region on batches of slices.
Values combine_in_parts(const RegionValue& combine, const Values& xs, const Values& others);

// ---- traces of programs about regions ----
// A region that does what `program` does on operands like these.
Value traced_region(Program program, const Values& operands);

// (*operands, *cotangents of the results that may have one) -> gradients of the operands that may
// have one, zeros where the region does not use them. `state`: of the generator when the region
// ran, undefined for one that draws nothing: Note [Random regions].
class Vjp {
 public:
  explicit Vjp(const RegionValue& region) : region_(region) {}
  Values operator()(const Values& operands, const Values& cotangents,
                    const Tensor& state = {}) const;

 private:
  const RegionValue& region_;
};
bool may_have_gradient(const Value& v);
// Those of the values that may have a gradient.
Values differentiable(const Values& values);
// One for each operand: the gradient, or None where there can be none.
Values scattered(const Values& gradients, const Values& operands);

// Makes a node the history of the results. `backward` gets the operands and a gradient for each
// result, and gives one, or None, for each operand. The node keeps the last `num_kept` results,
// which `backward` gets behind the operands; their gradients are None where there are none.
// `reaches`: by operand, whether a gradient of some of the results reaches it; the others have
// none.
using RegionBackward = std::function<Values(const Values& operands, const Values& gradients)>;
using RegionReach = std::function<std::vector<bool>(const std::vector<bool>& is_given)>;
Values record_node(const char* name, const Values& operands, Values results,
                   RegionBackward backward, size_t num_kept = 0, RegionReach reaches = {});

// By operand, whether one of the results that are told is made of it.
std::vector<bool> operands_of(const RegionValue& region, const std::vector<bool>& results);

}  // namespace taeda::fx
