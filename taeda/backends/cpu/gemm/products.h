// Operators of products as plans run them: with work on their blocks, and with operands that are
// packed once.
#pragma once

#include "taeda/backends/cpu/gemm/gemm.h"
#include "taeda/dispatch/operator.h"

namespace taeda::cpu {

struct ProductOperator {
  const dispatch::Operator* op;
  // Runs on arguments as the schema has them, plain tensors of memory, into `out`, which overlaps
  // none of them though it may share a storage with them. The product's elements have the bits that
  // the operator itself gives. For all dtypes but float8.
  void (*run)(const dispatch::Stack& arguments, Tensor& out, const ProductOptions& options);
  int second;          // the argument that is the second operand
  bool may_be_packed;  // once for many runs: the second operand
  bool may_be_filled;  // where they are packed: both operands
  // Dimension 1 of the result are channels, and blocks go through them and the places behind: see
  // ProductOptions::are_channels_columns.
  bool has_channels = false;
};

// Whether a product of matrices of this dtype packs its operands: packs_operands() of gemm.h.
TAEDA_API bool packs_operands(DType dtype, int64_t m, int64_t n, int64_t k);

// Null for operators that are no such products.
TAEDA_API const ProductOperator* find_product(const dispatch::Operator& op);

}  // namespace taeda::cpu
