// Determinants by their logarithms, from LU factors.
#include <limits>

#include "taeda/ops/factorizations/checks.h"
#include "taeda/ops/factorizations/declarations.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::impl {
namespace {

// The diagonal of U, and -1 for an odd number of exchanged rows.
struct Diagonal {
  Tensor numbers, parity;

  Diagonal(const Tensor& a, const char* op) {
    check_square(a, op);
    check_floating_or_complex(a, op);
    const DType real = to_real(a.dtype());
    TAEDA_CHECK(real == DType::Float || real == DType::Double, op,
                ": Low precision dtypes not supported. Got ", a.dtype());
    const auto [factors, pivots, info] = taeda::linalg_lu_factor_ex(a);
    numbers = factors.diagonal(0, -2, -1);
    const Tensor rows = taeda::arange(Scalar(1), a.sym_size(-1) + 1, Scalar(1), pivots.dtype(),
                                      std::nullopt, pivots.device());
    const Tensor exchanges = pivots.ne(rows).sum(IntList{-1});
    parity = exchanges.remainder(Scalar(2)).mul(Scalar(-2)).add(Scalar(1)).to(a.dtype());
  }
  Tensor phase() const { return numbers.sgn().prod(-1); }
  Tensor logarithms() const { return numbers.abs().log(); }
};

}  // namespace

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  const Diagonal diagonal(A, "linalg.slogdet");
  return {diagonal.phase().mul(diagonal.parity), diagonal.logarithms().sum(IntList{-1})};
}
std::tuple<Tensor, Tensor> linalg_slogdet_out(const Tensor& A, Tensor& sign, Tensor& logabsdet) {
  const Diagonal diagonal(A, "linalg.slogdet");
  taeda::mul_out(sign, diagonal.phase(), diagonal.parity);
  taeda::sum_out(logabsdet, diagonal.logarithms(), IntList{-1});
  return {sign, logabsdet};
}

Tensor logdet(const Tensor& self) {
  const Diagonal diagonal(self, "logdet");
  const Tensor sign = diagonal.phase().mul(diagonal.parity);
  const Tensor logarithm = diagonal.logarithms().sum(IntList{-1});
  if (self.is_complex()) return sign.log().add(logarithm);
  return logarithm.masked_fill(sign.eq(Scalar(-1)),
                               Scalar(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace taeda::impl
