// Reading index tensors: conversion to int64 and the bounds check that comes before memory is
// touched.
#pragma once

#include <optional>

#include "taeda/core/tensor.h"

namespace taeda::cpu {

// The index as int64, itself where it is.
Tensor int64_index(const Tensor& index);
// The first value, in logical order, outside [low, high); `index` is int64 with any strides.
std::optional<int64_t> first_outside(const Tensor& index, int64_t low, int64_t high);
// RuntimeError "index 5 is out of bounds for dimension 1 with size 3"; negative values are out of
// bounds.
void check_index_bounds(const Tensor& index, int64_t dim, int64_t size);

}  // namespace taeda::cpu
