// What the rules of factorizations check of their matrices, in PyTorch's words.
#pragma once

#include <string_view>

#include "taeda/core/tensor.h"

namespace taeda {

// What `linalg.qr` computes, after its argument `mode`.
struct QrMode {
  bool has_q, is_reduced;
  explicit QrMode(std::string_view mode);
};

void check_is_matrix(const Tensor& t, const char* op, const char* name = "A");
void check_square(const Tensor& t, const char* op, const char* name = "A");
void check_floating_or_complex(const Tensor& t, const char* op);
// NotImplementedError for other dtypes than float and double and their complex partners; `kernel`
// is PyTorch's name for what lacks them.
void check_factor_dtype(DType dtype, const char* kernel);
// The same; but PyTorch factors matrices without elements in any dtype.
void check_elements_dtype(const Tensor& t, const char* kernel);
// A is square, and B has as many rows as it, or columns where it stands on the left of A.
void check_equation(const Tensor& a, const Tensor& b, bool left, const char* op);
// Whether the right side of an equation is a vector per matrix of A.
bool is_vector_side(const Tensor& a, const Tensor& b);

// Sizes of b with the batches of both, broadcast.
SymIntVec broadcast_batches(const Tensor& b, const Tensor& a);
// -1 per matrix whose rows LU factors exchanged an odd number of times, else 1.
Tensor parity_of(const Tensor& pivots, DType dtype);
// Strides of matrices that lie column after column.
SymIntVec column_strides(SymIntList sizes);

}  // namespace taeda
