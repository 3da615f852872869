// What operators with index tensors share.
#pragma once

#include <functional>
#include <vector>

#include "taeda/backends/lowered/launch.h"

namespace taeda::lowered {

using kernel::Expr;

// A scalar as a vector of one.
Tensor with_dim(const Tensor& t);

// Tests every index before anything is written: a stage of its own.
void checked_first(KernelBuilder& k, const std::vector<int>& axes,
                   const std::vector<const Expr*>& symbols);

// Combines a value with the element at indexed places. Truth values have no sum: the element
// becomes what the value says, where it says something.
void accumulate(KernelBuilder& k, int operand, Sym value, const Coordinates& at,
                kernel::StoreMode mode);

// Raises an error with the first index, in logical order, outside of low .. high - 1. May be called
// after the operator has returned.
using RaiseIndex = std::function<void(int64_t)>;
void check_indices(const Tensor& index, int64_t low, int64_t high, RaiseIndex raise);
// "index 5 is out of bounds for dimension 0 with size 3": a RuntimeError of gather and scatter, an
// IndexError of brackets.
[[noreturn]] void refuse_place(int64_t index, int64_t dim, int64_t size);
[[noreturn]] void refuse_index(int64_t index, int64_t dim, int64_t size);
// Refuses the first index that is no place of the dimension.
void check_bounds(const Tensor& index, int64_t dim, int64_t size);

}  // namespace taeda::lowered
