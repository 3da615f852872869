// Reading index tensors: conversion to int64 and the bounds check that comes before memory is
// touched.
#pragma once

#include <optional>

#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Calls f with an unsigned type of the item's size, which is enough for a plain copy.
template <class F>
void visit_item(int64_t item, F&& f) {
  switch (item) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Complex<double>{});
  }
}

// The index as int64, itself where it is.
Tensor int64_index(const Tensor& index);
// The first value, in logical order, outside [low, high); `index` is int64 with any strides.
std::optional<int64_t> first_outside(const Tensor& index, int64_t low, int64_t high);
// RuntimeError "index 5 is out of bounds for dimension 1 with size 3"; negative values are out of
// bounds.
void check_index_bounds(const Tensor& index, int64_t dim, int64_t size);

}  // namespace taeda::cpu
