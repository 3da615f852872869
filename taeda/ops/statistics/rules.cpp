// Covariance, correlation, and sums that leave NaN out.
#include "taeda/base/log.h"
#include "taeda/core/unbacked.h"
#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/statistics/declarations.h"
#include "taeda/ops/statistics/functions.h"

namespace taeda::impl {
namespace {

// A truth value that decides what is computed; true where values cannot be looked at.
bool is_true(const Tensor& truth) {
  if (truth.is_meta() || dispatch::is_batched(truth)) return true;
  return read_scalar(dispatch::plain_value(truth)).to_bool();
}

void check_weights(const char* name, const Tensor& w, bool is_right_dtype, const char* kind,
                   const SymInt& observations) {
  TAEDA_CHECK(w.dim() <= 1, "cov(): expected ", name, " to have one or fewer dimensions but got ",
              name, " with ", w.dim(), " dimensions");
  TAEDA_CHECK(is_right_dtype, "cov(): expected ", name, " to have ", kind, " dtype but got ", name,
              " with ", w.dtype(), " dtype");
  TAEDA_CHECK(w.sym_numel() == observations, "cov(): expected ", name,
              " to have the same numel as there are observations in the input but got ",
              w.sym_numel(), " != ", observations);
  TAEDA_CHECK(observations == SymInt(0) || is_true(w.amin().ge(Scalar(0))), "cov(): ", name,
              " cannot be negative");
}

Tensor count_tensor(const SymInt& count, const Tensor& like) {
  return taeda::scalar_tensor(Scalar(count), DType::Int64, {}, like.device());
}

// By what the sums of products are divided: the weights less the degrees of freedom.
Tensor norm_factor(const Tensor& w, const Tensor& w_sum, int64_t correction, bool has_frequencies,
                   const Tensor& aweights, const Tensor& in) {
  const SymInt observations = in.sym_size(1);
  if (correction == 0) return w_sum;
  if (!aweights.defined()) return w_sum - Scalar(correction);
  if (!has_frequencies && observations == SymInt(1) && correction == 1)
    return count_tensor(SymInt(0), in);
  return w_sum - (w * aweights).sum() * Scalar(correction) / w_sum;
}

void warn_of_few_observations() {
  warn(
      "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
      "observations.");
}

// The same, at least 0. Weights that cannot be looked at are compared where they are.
Tensor degrees_of_freedom(const Tensor& w, const Tensor& w_sum, int64_t correction,
                          bool has_frequencies, const Tensor& aweights, const Tensor& in) {
  if (!w.defined()) {
    const SymInt degrees = in.sym_size(1) - SymInt(correction);
    const std::optional<bool> is_positive = known(SymOp::Gt, degrees, 0);
    if (!is_positive) return count_tensor(degrees, in).clamp_min(Scalar(0));
    if (*is_positive) return count_tensor(degrees, in);
    warn_of_few_observations();
    return count_tensor(SymInt(0), in);
  }
  const Tensor norm = norm_factor(w, w_sum, correction, has_frequencies, aweights, in);
  if (norm.is_meta() || dispatch::is_batched(norm)) return norm.clamp_min(Scalar(0));
  if (!is_true(norm.le(Scalar(0)))) return norm;
  warn_of_few_observations();
  return taeda::zeros_like(norm);
}

}  // namespace

Tensor cov(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  TAEDA_CHECK(self.dim() <= 2,
              "cov(): expected input to have two or fewer dimensions but got an input with ",
              self.dim(), " dimensions");
  TAEDA_CHECK(self.dtype() != DType::Bool, "cov(): bool dtype is not supported for input");
  Tensor in = self.dim() < 2 ? self.reshape({SymInt(1), SymInt(-1)}) : self;
  const SymInt observations = in.sym_size(1);
  Tensor w = fweights;
  if (fweights.defined())
    check_weights("fweights", fweights, is_integral(fweights.dtype(), false), "integral",
                  observations);
  if (aweights.defined()) {
    check_weights("aweights", aweights, is_floating(aweights.dtype()), "floating point",
                  observations);
    w = w.defined() ? w * aweights : aweights;
  }
  const Tensor w_sum = w.defined() ? w.sum() : count_tensor(observations, in);
  TAEDA_CHECK(!w.defined() || is_true(w_sum.ne(Scalar(0))),
              "cov(): weights sum to zero, can't be normalized");
  const Tensor average = (w.defined() ? in * w : in).sum(IntList({1})) / w_sum;
  const Tensor norm = degrees_of_freedom(w, w_sum, correction, fweights.defined(), aweights, in);
  // One observation with weights of one kind is its own average, whatever rounding says.
  const bool is_alone = observations == SymInt(1) && fweights.defined() != aweights.defined();
  in = is_alone ? taeda::zeros_like(in - average.unsqueeze(1)) : in - average.unsqueeze(1);
  const Tensor products = taeda::mm(in, (w.defined() ? in * w : in).to(in.dtype()).t().conj());
  return products.div(norm).squeeze();
}

Tensor corrcoef(const Tensor& self) {
  TAEDA_CHECK(self.dim() <= 2,
              "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
              self.dim(), " dimensions");
  const Tensor c = taeda::cov(self);
  if (c.dim() == 0) return c / c;
  const Tensor diagonal = c.diagonal();
  const Tensor deviation = (c.is_complex() ? taeda::real(diagonal) : diagonal).sqrt();
  const Tensor scaled = c.div(deviation.reshape({SymInt(-1), SymInt(1)})).div(deviation);
  if (!c.is_complex()) return scaled.clamp(Scalar(-1), Scalar(1));
  return taeda::complex(taeda::real(scaled).clamp(Scalar(-1), Scalar(1)),
                        taeda::imag(scaled).clamp(Scalar(-1), Scalar(1)));
}

// ---- sums without NaN ----
namespace {

void check_nansum(const char* op, const Tensor& self) {
  TAEDA_CHECK(!self.is_complex(), op, " on CPU does not support complex inputs");
}
Tensor without_nan(const Tensor& self) {
  if (!is_floating(self.dtype())) return self;
  return self.masked_fill(self.isnan(), Scalar(0));
}
void check_nanmean(const Tensor& self) {
  TAEDA_CHECK(is_floating(self.dtype()) || self.is_complex(),
              "nanmean(): expected input to have floating point or complex dtype but got ",
              self.dtype());
}
Tensor nanmean_factor(const Tensor& self, std::optional<IntList> dim, bool keepdim) {
  return taeda::sum(self.isnan().logical_not(), dim, keepdim);
}

}  // namespace

Tensor nansum(const Tensor& self, std::optional<IntList> dim, bool keepdim,
              std::optional<DType> dtype) {
  check_nansum("nansum", self);
  return taeda::sum(without_nan(self), dim, keepdim, dtype);
}
Tensor& nansum_out(const Tensor& self, std::optional<IntList> dim, bool keepdim,
                   std::optional<DType> dtype, Tensor& out) {
  check_nansum("nansum", self);
  return taeda::sum_out(out, without_nan(self), dim, keepdim, dtype);
}
Tensor nanmean(const Tensor& self, std::optional<IntList> dim, bool keepdim,
               std::optional<DType> dtype) {
  check_nanmean(self);
  return taeda::nansum(self, dim, keepdim, dtype).div(nanmean_factor(self, dim, keepdim));
}
Tensor& nanmean_out(const Tensor& self, std::optional<IntList> dim, bool keepdim,
                    std::optional<DType> dtype, Tensor& out) {
  check_nanmean(self);
  taeda::nansum_out(out, self, dim, keepdim, dtype);
  return out.div_(nanmean_factor(self, dim, keepdim));
}

}  // namespace taeda::impl
