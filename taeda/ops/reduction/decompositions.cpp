// Reductions outside the core set as functions of core operators.
#include <limits>

#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

using Dims = std::optional<IntList>;
using Correction = std::optional<Scalar>;

// Truth values of bytes are bytes.
Tensor truth_like(const Tensor& truth, const Tensor& self) {
  return self.dtype() == DType::UInt8 ? truth.to(DType::UInt8) : truth;
}

Tensor deviation(const Tensor& self, Dims dim, const Correction& correction, bool keepdim) {
  const DType real = to_real(self.dtype());
  const Wide w({&self});
  return w.rounded(taeda::sqrt(ops::var_correction(w(self), dim, correction, keepdim)), real);
}

// The greatest real part, or zero where it is infinite. Exponents are taken relative to it.
Tensor finite_shift(const Tensor& x, IntList dim) {
  const Tensor top = taeda::amax(taeda::real(x), dim, true);
  const Scalar infinity(std::numeric_limits<double>::infinity());
  return taeda::where(taeda::eq(taeda::abs(top), infinity), Scalar(0), top);
}

}  // namespace

TAEDA_DECOMPOSITION(max, (const Tensor& self)) { return taeda::amax(self); }
TAEDA_DECOMPOSITION(min, (const Tensor& self)) { return taeda::amin(self); }

TAEDA_DECOMPOSITION(all, (const Tensor& self)) {
  return truth_like(taeda::logical_not(ops::any(taeda::logical_not(self))), self);
}
TAEDA_DECOMPOSITION(all_dim, (const Tensor& self, int64_t dim, bool keepdim)) {
  return truth_like(taeda::logical_not(ops::any_dim(taeda::logical_not(self), dim, keepdim)), self);
}
TAEDA_DECOMPOSITION(all_dims, (const Tensor& self, std::optional<IntList> dim, bool keepdim)) {
  return truth_like(taeda::logical_not(ops::any_dims(taeda::logical_not(self), dim, keepdim)),
                    self);
}

TAEDA_DECOMPOSITION(count_nonzero_dim_IntList, (const Tensor& self, IntList dim)) {
  return ops::sum_dim_IntList(self.to(DType::Bool), dim, false, DType::Int64);
}

TAEDA_DECOMPOSITION(logsumexp, (const Tensor& self, IntList dim, bool keepdim)) {
  const Wide w({&self}, Wide::Rule::Float);
  const Tensor x = w(self);
  // There is no greatest of no elements.
  if (x.sym_numel() == SymInt(0))
    return w.rounded(taeda::log(ops::sum_dim_IntList(taeda::exp(x), dim, keepdim, {})));
  const Tensor shift = finite_shift(x, dim);
  const Tensor total = ops::sum_dim_IntList(taeda::exp(x - shift), dim, true, {});
  const Tensor out = taeda::log(total) + shift;
  if (keepdim || self.dim() == 0) return w.rounded(out);
  std::vector<int64_t> every;
  for (int64_t d = 0; d < self.dim(); ++d) every.push_back(d);
  return w.rounded(taeda::squeeze(out, dim.empty() ? IntList(every) : dim));
}

TAEDA_DECOMPOSITION(std_correction, (const Tensor& self, std::optional<IntList> dim,
                                     std::optional<Scalar> correction, bool keepdim)) {
  return deviation(self, dim, correction, keepdim);
}
TAEDA_DECOMPOSITION(var_mean_correction, (const Tensor& self, std::optional<IntList> dim,
                                          std::optional<Scalar> correction, bool keepdim)) {
  return {ops::var_correction(self, dim, correction, keepdim),
          ops::mean_dim(self, dim, keepdim, {})};
}
TAEDA_DECOMPOSITION(std_mean_correction, (const Tensor& self, std::optional<IntList> dim,
                                          std::optional<Scalar> correction, bool keepdim)) {
  return {deviation(self, dim, correction, keepdim), ops::mean_dim(self, dim, keepdim, {})};
}

}  // namespace taeda
