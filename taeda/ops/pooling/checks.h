// Checks and results that the rules of this family share.
#pragma once

#include "taeda/ops/spec.h"

namespace taeda {

// Beside floats of 16, 32 and 64 bits.
enum PooledIntegers : uint8_t { kPoolsFloats, kPoolsLong, kPoolsIntegers };
void check_pooled_dtype(const char* op, const Tensor& self, PooledIntegers integers);

// A result whose channels lie innermost where those of `self` do.
OutSpec pooled_spec(const Tensor& self, const SymIntVec& sizes, DType dtype);

// "expected dtype Float for `gradOutput` but got dtype Double"
void check_gradient_dtype(const Tensor& grad_output, const Tensor& self);
// "Expected a tensor of dimension 4 and tensor.size[1] == 3 but got: dimension 4 and
// tensor.size[1] = 2"
void check_gradient_sizes(const Tensor& t, const SymIntVec& sizes);

// The input has `spatial` dimensions behind one or two others, and none from `first` on is empty.
void check_planes(const char* op, const Tensor& self, int64_t spatial, int64_t first);

}  // namespace taeda
