// Entropies as functions of core operators.
#include "taeda/ops/special_math/operators.h"

#include <limits>

#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

// x times a logarithm, zero where x is; NaN of y stays.
Tensor times_log(const Tensor& x, const Tensor& y, const Tensor& log) {
  const Tensor is_zero =
      taeda::logical_and(taeda::eq(x, Scalar(0)), taeda::logical_not(taeda::isnan(y)));
  return taeda::where(is_zero, Scalar(0), x * log);
}
// A number of the dtype, whose logarithm then has that precision.
Tensor wide_number(const Wide& w, const Tensor& self, const Scalar& number) {
  return taeda::full(SymIntList(), number, w.compute(), {}, self.device());
}
Tensor xlogy_of(const Wide& w, const Tensor& x, const Tensor& y) {
  return w.rounded(times_log(x, y, taeda::log(y)));
}
Tensor xlog1py_of(const Wide& w, const Tensor& x, const Tensor& y) {
  return w.rounded(times_log(x, y, taeda::log1p(y)));
}

}  // namespace

TAEDA_DECOMPOSITION(xlogy_Tensor, (const Tensor& self, const Tensor& other)) {
  const Wide w({&self, &other}, Wide::Rule::Float);
  return xlogy_of(w, w(self), w(other));
}
TAEDA_DECOMPOSITION(xlogy_Scalar_Self, (const Scalar& self, const Tensor& other)) {
  const Tensor number = wrapped_scalar(self);
  const Wide w({&number, &other}, Wide::Rule::Float);
  return xlogy_of(w, number, w(other));
}
TAEDA_DECOMPOSITION(xlogy_Scalar_Other, (const Tensor& self, const Scalar& other)) {
  const Tensor number = wrapped_scalar(other);
  const Wide w({&self, &number}, Wide::Rule::Float);
  return xlogy_of(w, w(self), wide_number(w, self, other));
}
TAEDA_DECOMPOSITION(special_xlog1py, (const Tensor& self, const Tensor& other)) {
  const Wide w({&self, &other}, Wide::Rule::Float);
  return xlog1py_of(w, w(self), w(other));
}
TAEDA_DECOMPOSITION(special_xlog1py_self_scalar, (const Scalar& self, const Tensor& other)) {
  const Tensor number = wrapped_scalar(self);
  const Wide w({&number, &other}, Wide::Rule::Float);
  return xlog1py_of(w, number, w(other));
}
TAEDA_DECOMPOSITION(special_xlog1py_other_scalar, (const Tensor& self, const Scalar& other)) {
  const Tensor number = wrapped_scalar(other);
  const Wide w({&self, &number}, Wide::Rule::Float);
  return xlog1py_of(w, w(self), wide_number(w, self, other));
}
TAEDA_DECOMPOSITION(special_entr, (const Tensor& self)) {
  const Wide w({&self}, Wide::Rule::Float);
  const Tensor x = w(self);
  const Scalar below(-std::numeric_limits<double>::infinity());
  const Tensor entropy =
      taeda::where(taeda::lt(x, Scalar(0)), below, taeda::neg(x) * taeda::log(x));
  return w.rounded(taeda::where(taeda::eq(x, Scalar(0)), Scalar(0), entropy));
}

}  // namespace taeda
