// Reductions of segments along an axis and their gradients.
#include <cmath>
#include <limits>
#include <vector>

#include "taeda/backends/cpu/placement_declarations.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

enum class Reduce { Max, Mean, Min, Sum, Prod };

Reduce reduce_of(std::string_view name) {
  return name == "max"    ? Reduce::Max
         : name == "mean" ? Reduce::Mean
         : name == "min"  ? Reduce::Min
         : name == "sum"  ? Reduce::Sum
                          : Reduce::Prod;
}

// The value of no elements.
double start_of(Reduce reduce, const std::optional<Scalar>& initial) {
  if (initial) return initial->to_double();
  const double infinity = std::numeric_limits<double>::infinity();
  switch (reduce) {
    case Reduce::Max: return -infinity;
    case Reduce::Min: return infinity;
    case Reduce::Prod: return 1;
    default: return 0;
  }
}

double combined(Reduce reduce, double a, double b) {
  switch (reduce) {
    case Reduce::Max: return a != a || b != b ? a + b : std::fmax(a, b);
    case Reduce::Min: return a != a || b != b ? a + b : std::fmin(a, b);
    case Reduce::Prod: return a * b;
    default: return a + b;
  }
}

// The segments of data seen as (outer, length, inner): bounds[outer * (count + 1) + segment].
struct Segments {
  int64_t outer = 1, length = 1, inner = 1, count = 0;
  std::vector<int64_t> bounds;

  Segments(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int64_t axis) {
    for (int64_t d = 0; d < axis; ++d) outer *= data.size(d);
    for (int64_t d = axis + 1; d < data.dim(); ++d) inner *= data.size(d);
    length = data.size(axis);
    const bool has_offsets = offsets.defined();
    const Tensor given = (has_offsets ? offsets : lengths).to(DType::Int64).contiguous();
    const auto* numbers = static_cast<const int64_t*>(given.data());
    count = given.size(-1) - (has_offsets ? 1 : 0);
    for (int64_t o = 0; o < outer; ++o) {
      if (!has_offsets) bounds.push_back(0);
      for (int64_t s = 0; s < given.size(-1); ++s) {
        const int64_t n = numbers[o * given.size(-1) + s];
        bounds.push_back(has_offsets ? n : bounds.back() + n);
      }
    }
  }
  int64_t begin(int64_t o, int64_t s) const { return bounds[o * (count + 1) + s]; }
  int64_t end(int64_t o, int64_t s) const { return bounds[o * (count + 1) + s + 1]; }
  void check_within() const {
    for (const int64_t b : bounds)
      TAEDA_CHECK(b >= 0 && b <= length, "segment_reduce(): a segment ends at ", b,
                  ", outside of the axis of ", length);
  }
};

void check_lengths(const Tensor& lengths, const Segments& segments) {
  if (!lengths.defined()) return;
  TAEDA_CHECK(lengths.numel() == 0 || read_scalar(lengths.amin()).to_int() >= 0,
              "lengths contains negative value!");
  for (int64_t o = 0; o < segments.outer; ++o)
    TAEDA_CHECK(segments.begin(o, segments.count) == segments.length,
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe.");
}

// f(outer, segment, inner, first element, number of elements), elements `inner` apart.
template <class F>
void for_segments(const Segments& segments, F&& f) {
  for (int64_t o = 0; o < segments.outer; ++o)
    for (int64_t s = 0; s < segments.count; ++s)
      for (int64_t i = 0; i < segments.inner; ++i) {
        const int64_t begin = segments.begin(o, s);
        f((o * segments.count + s) * segments.inner + i,
          (o * segments.length + begin) * segments.inner + i, segments.end(o, s) - begin);
      }
}

// What each element gets of its segment's gradient.
void spread(Reduce reduce, double grad, double result, const double* x, int64_t n, int64_t step,
            double start, double* to) {
  if (reduce == Reduce::Sum || reduce == Reduce::Mean) {
    const double share = reduce == Reduce::Mean ? grad / static_cast<double>(n) : grad;
    for (int64_t k = 0; k < n; ++k) to[k * step] = share;
  } else if (reduce == Reduce::Prod) {
    for (int64_t k = 0; k < n; ++k) {
      double others = start;
      for (int64_t j = 0; j < n; ++j) others *= j == k ? 1 : x[j * step];
      to[k * step] = grad * others;
    }
  } else {
    int64_t ties = 0;
    const auto is_extreme = [&](double v) { return v == result || v != v; };
    for (int64_t k = 0; k < n; ++k) ties += is_extreme(x[k * step]);
    for (int64_t k = 0; k < n; ++k)
      if (is_extreme(x[k * step])) to[k * step] = grad / static_cast<double>(ties);
  }
}

Tensor as_doubles(const Tensor& t) { return t.to(DType::Double).contiguous(); }

}  // namespace

void segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths,
                    const Tensor&, const Tensor& offsets, int64_t axis, bool unsafe,
                    std::optional<Scalar> initial, Tensor& out) {
  const Segments segments(data, lengths, offsets, wrap_dim(axis, data.dim()));
  if (!unsafe && !offsets.defined()) check_lengths(lengths, segments);
  segments.check_within();
  const Reduce kind = reduce_of(reduce);
  const Tensor values = as_doubles(data);
  const Tensor results = taeda::empty(out.sym_sizes(), DType::Double);
  const auto* x = static_cast<const double*>(values.data());
  auto* to = static_cast<double*>(results.data());
  for_segments(segments, [&](int64_t place, int64_t first, int64_t n) {
    double total = start_of(kind, initial);
    for (int64_t k = 0; k < n; ++k) total = combined(kind, total, x[first + k * segments.inner]);
    if (kind == Reduce::Mean && n == 0 && !initial)
      total = std::numeric_limits<double>::quiet_NaN();
    if (kind == Reduce::Mean && n > 0 && total == total) total /= static_cast<double>(n);
    to[place] = total;
  });
  out.copy_(results);
}

void _segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data,
                              std::string_view reduce, const Tensor& lengths, const Tensor& offsets,
                              int64_t axis, std::optional<Scalar> initial, Tensor& out) {
  const Segments segments(data, lengths, offsets, wrap_dim(axis, data.dim()));
  const Reduce kind = reduce_of(reduce);
  const Tensor values = as_doubles(data), grads = as_doubles(grad), results = as_doubles(output);
  const Tensor slopes = taeda::zeros(data.sym_sizes(), DType::Double);
  const auto *x = static_cast<const double*>(values.data()),
             *g = static_cast<const double*>(grads.data()),
             *r = static_cast<const double*>(results.data());
  auto* to = static_cast<double*>(slopes.data());
  const double start = start_of(kind, initial);
  for_segments(segments, [&](int64_t place, int64_t first, int64_t n) {
    spread(kind, g[place], r[place], x + first, n, segments.inner, start, to + first);
  });
  out.copy_(slopes);
}

}  // namespace taeda::cpu
