// Quantiles: sorted lines, read at ranks between their elements.
#include "taeda/core/unbacked.h"
#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/made_apart.h"
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
  TAEDA_CHECK(expect(SymOp::Gt, self.sym_numel(), 0), "quantile() input tensor must be non-empty");
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

// What the values at some ranks are made of: those of two neighbours and the upper one's weight, or
// one of them.
struct RankedParts {
  Tensor sorted, below, above, weight;

  RankedParts(const Tensor& sorted, Tensor ranks, Interpolation rule) : sorted(sorted) {
    if (rule == Interpolation::Lower) ranks = ranks.floor();
    if (rule == Interpolation::Higher) ranks = ranks.ceil();
    if (rule == Interpolation::Nearest) ranks = ranks.round();
    below = ranks.to(DType::Int64);
    if (rule != Interpolation::Linear && rule != Interpolation::Midpoint) return;
    above = ranks.ceil().to(DType::Int64);
    weight = rule == Interpolation::Midpoint ? taeda::full_like(ranks, Scalar(0.5)) : ranks - below;
  }
  Tensor values() const {
    const Tensor low = sorted.gather(-1, below);
    return weight.defined() ? low.lerp(sorted.gather(-1, above), weight) : low;
  }
  void write_values(Tensor& out) const {
    taeda::gather_out(out, sorted, -1, below);
    if (weight.defined()) out.lerp_(sorted.gather(-1, above), weight);
  }
};

RankedParts ranked_parts(const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                         Interpolation rule, bool ignore_nan) {
  check_fractions(q);
  const Tensor sorted = sorted_lines(self, dim);
  TAEDA_CHECK(expect(SymOp::Le, sorted.sym_size(-1), 1 << 24),
              "quantile() input tensor is too large");
  const Tensor fractions = q.dim() == 0 ? q.reshape({SymInt(1)}) : q;
  SymIntVec shape(sorted.sym_sizes());
  shape[shape.size() - 1] = fractions.sym_numel();
  return RankedParts(sorted, ranks_of(sorted, fractions, ignore_nan).expand(shape), rule);
}

Tensor quantile_of(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation, bool ignore_nan) {
  const Interpolation rule = interpolation_of(interpolation);
  check_quantile(self, q);
  const int64_t along = wrap_dim(dim.value_or(0), self.dim());
  Tensor out = ranked_parts(self, q, dim, rule, ignore_nan).values().movedim(-1, 0);
  if (keepdim && dim && self.dim() > 0) out = out.unsqueeze(along + 1);
  if (keepdim && !dim)
    for (int64_t d = 0; d < self.dim(); ++d) out = out.unsqueeze(-1);
  return q.dim() == 0 ? out.squeeze(0) : out;
}

// The sizes of the result: those of the fractions, then those of the lines.
SymIntVec quantile_sizes(const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                         bool keepdim) {
  SymIntVec sizes(q.sym_sizes());
  const int64_t along = wrap_dim(dim.value_or(0), self.dim());
  for (int64_t d = 0; d < self.dim(); ++d) {
    const bool is_kept = dim && d != along;
    if (is_kept || keepdim) sizes.push_back(is_kept ? self.sym_size(d) : SymInt(1));
  }
  return sizes;
}

// A view of a result with the lines in front and the fractions behind them.
Tensor lines_of(const Tensor& out, const Tensor& self, const Tensor& q, std::optional<int64_t> dim,
                bool keepdim) {
  Tensor view = q.dim() == 0 ? out.unsqueeze(0) : out;
  if (keepdim && dim && self.dim() > 0) view = view.squeeze(wrap_dim(*dim, self.dim()) + 1);
  if (keepdim && !dim)
    for (int64_t d = 0; d < self.dim(); ++d) view = view.squeeze(-1);
  return view.movedim(0, -1);
}

Tensor& quantile_into(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                      std::string_view interpolation, bool ignore_nan, Tensor& out) {
  const Interpolation rule = interpolation_of(interpolation);
  check_quantile(self, q);
  TAEDA_CHECK(self.dtype() == out.dtype(),
              "quantile() out tensor must be same dtype as the input tensor");
  TAEDA_CHECK(self.device() == out.device(),
              "quantile() out tensor must be on the same device as the input tensor");
  const SymIntVec sizes = quantile_sizes(self, q, dim, keepdim);
  if (is_made_apart(out, self) || is_made_apart(out, q)) {
    const Tensor made = quantile_of(self, q, dim, keepdim, interpolation, ignore_nan);
    resize_output(out, sizes);
    return out.copy_(made);
  }
  const RankedParts parts = ranked_parts(self, q, dim, rule, ignore_nan);
  resize_output(out, sizes);
  Tensor lines = lines_of(out, self, q, dim, keepdim);
  parts.write_values(lines);
  return out;
}

Tensor one_fraction(const Tensor& self, double q) {
  TAEDA_CHECK(q >= 0 && q <= 1, "quantile() q must be in the range [0, 1] but got ", q);
  return taeda::scalar_tensor(Scalar(q), self.dtype(), {}, self.device());
}

}  // namespace

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantile_of(self, q, dim, keepdim, interpolation, false);
}
Tensor& quantile_out(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                     std::string_view interpolation, Tensor& out) {
  return quantile_into(self, q, dim, keepdim, interpolation, false, out);
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
  return quantile_into(self, q, dim, keepdim, interpolation, true, out);
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
