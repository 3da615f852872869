// Quantiles: sorted lines, read at ranks between their elements.
#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/order_statistics/declarations.h"

namespace taeda::impl {
namespace {

enum class Interpolation { Linear, Lower, Higher, Midpoint, Nearest };

Interpolation interpolation_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  for (int i = 0; i < 5; ++i)
    if (kNames[i] == name) return static_cast<Interpolation>(i);
  fail(ErrorKind::Runtime,
       "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
       "got ",
       name);
}

void check_quantile(const Tensor& self, const Tensor& q) {
  TAEDA_CHECK(self.sym_numel() > SymInt(0), "quantile() input tensor must be non-empty");
  TAEDA_CHECK(q.dim() <= 1, "quantile() q must be a scalar or 1D tensor");
  TAEDA_CHECK(self.dtype() == DType::Float || self.dtype() == DType::Double,
              "quantile() input tensor must be either float or double dtype");
  TAEDA_CHECK(self.dtype() == q.dtype(),
              "quantile() q tensor must be same dtype as the input tensor");
  TAEDA_CHECK(self.device() == q.device(),
              "quantile() q tensor must be on the same device as the input tensor");
}

// Whether the values may be read: neither batched nor without memory.
void check_fractions(const Tensor& q) {
  if (q.is_meta() || dispatch::is_batched(q) || q.impl()->has_symbolic_sizes()) return;
  const Tensor is_inside = q.ge(Scalar(0)).logical_and(q.le(Scalar(1))).all();
  TAEDA_CHECK(read_scalar(dispatch::plain_value(is_inside)).to_bool(),
              "quantile() q values must be in the range [0, 1]");
}

// The line to look in is the last dimension.
Tensor sorted_lines(const Tensor& self, std::optional<int64_t> dim) {
  const Tensor lines =
      dim ? self.dim() == 0 ? self.reshape({SymInt(1)}) : self.movedim(*dim, -1) : self.flatten();
  return std::get<0>(taeda::sort(lines));
}

// Ranks of the fractions among the elements of each line: (lines..., fractions). Where there is a
// NaN, the last.
Tensor ranks_of(const Tensor& sorted, const Tensor& q, bool ignore_nan) {
  if (ignore_nan) {
    const Tensor count = sorted.isnan().logical_not().sum(IntList({-1}), /*keepdim=*/true);
    const Tensor ranks = q * (count - Scalar(1));
    return ranks.masked_fill(ranks.lt(Scalar(0)), Scalar(0));
  }
  const SymInt last = sorted.sym_size(-1) - SymInt(1);
  const Tensor has_nan = sorted.isnan().any(-1, /*keepdim=*/true);
  return taeda::where(has_nan, Scalar(last), q * Scalar(last)).to(sorted.dtype());
}

Tensor values_at(const Tensor& sorted, Tensor ranks, Interpolation interpolation) {
  if (interpolation == Interpolation::Lower) ranks = ranks.floor();
  if (interpolation == Interpolation::Higher) ranks = ranks.ceil();
  if (interpolation == Interpolation::Nearest) ranks = ranks.round();
  const Tensor below = ranks.to(DType::Int64);
  const Tensor low = sorted.gather(-1, below);
  const bool is_between =
      interpolation == Interpolation::Linear || interpolation == Interpolation::Midpoint;
  if (!is_between) return low;
  const Tensor weight = interpolation == Interpolation::Midpoint
                            ? taeda::full_like(ranks, Scalar(0.5))
                            : ranks - below;
  return low.lerp(sorted.gather(-1, ranks.ceil().to(DType::Int64)), weight);
}

Tensor quantile_of(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation, bool ignore_nan) {
  const Interpolation rule = interpolation_of(interpolation);
  check_quantile(self, q);
  const int64_t along = wrap_dim(dim.value_or(0), self.dim());
  check_fractions(q);
  const Tensor sorted = sorted_lines(self, dim);
  TAEDA_CHECK(sorted.sym_size(-1) <= SymInt(1 << 24), "quantile() input tensor is too large");
  Tensor fractions = q.dim() == 0 ? q.reshape({SymInt(1)}) : q;
  SymIntVec shape(sorted.sym_sizes());
  shape[shape.size() - 1] = fractions.sym_numel();
  const Tensor ranks = ranks_of(sorted, fractions, ignore_nan).expand(shape);
  Tensor out = values_at(sorted, ranks, rule).movedim(-1, 0);
  if (keepdim && dim && self.dim() > 0) out = out.unsqueeze(along + 1);
  if (keepdim && !dim)
    for (int64_t d = 0; d < self.dim(); ++d) out = out.unsqueeze(-1);
  return q.dim() == 0 ? out.squeeze(0) : out;
}

Tensor one_fraction(const Tensor& self, double q) {
  TAEDA_CHECK(q >= 0 && q <= 1, "quantile() q must be in the range [0, 1] but got ", q);
  return taeda::scalar_tensor(Scalar(q), self.dtype(), {}, self.device());
}

Tensor& written_quantile(const Tensor& result, const Tensor& self, Tensor& out) {
  TAEDA_CHECK(self.dtype() == out.dtype(),
              "quantile() out tensor must be same dtype as the input tensor");
  TAEDA_CHECK(self.device() == out.device(),
              "quantile() out tensor must be on the same device as the input tensor");
  resize_output(out, result.sym_sizes());
  return out.copy_(result);
}

}  // namespace

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantile_of(self, q, dim, keepdim, interpolation, false);
}
Tensor& quantile_out(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                     std::string_view interpolation, Tensor& out) {
  return written_quantile(impl::quantile(self, q, dim, keepdim, interpolation), self, out);
}
Tensor quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                       std::string_view interpolation) {
  return impl::quantile(self, one_fraction(self, q), dim, keepdim, interpolation);
}
Tensor& quantile_scalar_out(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                            std::string_view interpolation, Tensor& out) {
  return quantile_out(self, one_fraction(self, q), dim, keepdim, interpolation, out);
}
Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return quantile_of(self, q, dim, keepdim, interpolation, true);
}
Tensor& nanquantile_out(const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                        bool keepdim, std::string_view interpolation, Tensor& out) {
  return written_quantile(impl::nanquantile(self, q, dim, keepdim, interpolation), self, out);
}
Tensor nanquantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation) {
  return impl::nanquantile(self, one_fraction(self, q), dim, keepdim, interpolation);
}
Tensor& nanquantile_scalar_out(const Tensor& self, double q, std::optional<int64_t> dim,
                               bool keepdim, std::string_view interpolation, Tensor& out) {
  return nanquantile_out(self, one_fraction(self, q), dim, keepdim, interpolation, out);
}

}  // namespace taeda::impl
