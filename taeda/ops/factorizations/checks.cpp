// What the rules of factorizations check of their matrices, in PyTorch's words.
#include "taeda/ops/factorizations/checks.h"

#include <algorithm>

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda {

QrMode::QrMode(std::string_view mode)
    : has_q(mode != "r"), is_reduced(mode == "reduced" || mode == "r") {
  TAEDA_CHECK(is_reduced || mode == "complete", "qr received unrecognized mode '", mode,
              "' but expected one of 'reduced' (default), 'r', or 'complete'");
}

void check_is_matrix(const Tensor& t, const char* op, const char* name) {
  TAEDA_CHECK(t.dim() >= 2, op, ": The input tensor ", name, " must have at least 2 dimensions.");
}

void check_square(const Tensor& t, const char* op, const char* name) {
  check_is_matrix(t, op, name);
  TAEDA_CHECK(t.sym_size(-1) == t.sym_size(-2), op, ": ", name,
              " must be batches of square matrices, but they are ", t.sym_size(-2), " by ",
              t.sym_size(-1), " matrices");
}

void check_floating_or_complex(const Tensor& t, const char* op) {
  TAEDA_CHECK(t.is_floating_point() || t.is_complex(), op,
              ": Expected a floating point or complex tensor as input. Got ", t.dtype());
}

void check_factor_dtype(DType dtype, const char* kernel) {
  const DType real = to_real(dtype);
  TAEDA_CHECK_NOT_IMPLEMENTED(real == DType::Float || real == DType::Double, "\"", kernel,
                              "\" not implemented for '", dtype, "'");
}

void check_elements_dtype(const Tensor& t, const char* kernel) {
  const bool is_empty = !t.sym_numel().is_symbolic() && t.numel() == 0;
  if (!is_empty) check_factor_dtype(t.dtype(), kernel);
}

void check_equation(const Tensor& a, const Tensor& b, bool left, const char* op) {
  check_square(a, op);
  check_is_matrix(b, op, "B");
  TAEDA_CHECK(a.sym_size(-1) == b.sym_size(left ? -2 : -1), op,
              ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B",
              " (", a.sym_size(-2), "x", a.sym_size(-1), " and ", b.sym_size(-2), "x",
              b.sym_size(-1), ")");
}

bool is_vector_side(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  if (a.dim() - 1 != b.dim()) return false;
  for (int64_t d = 0; d < b.dim(); ++d)
    if (a.sym_size(d) != b.sym_size(d)) return false;
  return true;
}

SymIntVec broadcast_batches(const Tensor& b, const Tensor& a) {
  const auto batch = [](const Tensor& t) {
    const SymIntList sizes = t.sym_sizes();
    return SymIntList(sizes.data(), sizes.size() - 2);
  };
  SymIntVec sizes = broadcast_shapes(batch(b), batch(a));
  sizes.push_back(b.sym_size(-2));
  sizes.push_back(b.sym_size(-1));
  return sizes;
}

Tensor parity_of(const Tensor& pivots, DType dtype) {
  const Tensor rows = taeda::arange(Scalar(1), pivots.sym_size(-1) + 1, Scalar(1), pivots.dtype(),
                                    std::nullopt, pivots.device());
  const Tensor exchanges = pivots.ne(rows).sum(IntList{-1});
  return exchanges.remainder(Scalar(2)).mul(Scalar(-2)).add(Scalar(1)).to(dtype);
}

SymIntVec column_strides(SymIntList sizes) {
  SymIntVec strides = contiguous_strides(sizes);
  const size_t n = sizes.size();
  if (n < 2) return strides;
  strides[n - 1] = sym_max(sizes[n - 2], SymInt(1));
  strides[n - 2] = SymInt(1);
  return strides;
}

}  // namespace taeda
