// Histograms: each point's cell by division where edges are even, by search where they are not.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "taeda/backends/cpu/order_statistics_declarations.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/order_statistics/bins.h"

namespace taeda::cpu {
namespace {

// How a value finds its bin.
enum class Lookup { Search, Divide, DivideAndCompare };

// Every step rounded to T, as its own arithmetic would.
template <class T>
T narrowed(double x) {
  return static_cast<T>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(x));
}

// The bin of a value within the edges; the last one includes its right edge.
template <class T>
int64_t bin_of(T value, const std::vector<T>& edges, Lookup lookup) {
  const auto last = static_cast<int64_t>(edges.size()) - 1;
  const auto is_less = [](T a, T b) { return a < b; };
  int64_t bin = 0;
  if (lookup == Lookup::Search) {
    bin = std::upper_bound(edges.begin(), edges.end(), value, is_less) - edges.begin() - 1;
  } else {
    const auto wide = [](T x) { return static_cast<double>(x); };
    const T offset = narrowed<T>(wide(value) - wide(edges.front()));
    const T scaled = narrowed<T>(wide(offset) * static_cast<double>(last));
    const T width = narrowed<T>(wide(edges.back()) - wide(edges.front()));
    bin = static_cast<int64_t>(wide(narrowed<T>(wide(scaled) / wide(width))));
  }
  if (lookup == Lookup::DivideAndCompare) {
    const int64_t low = std::max<int64_t>(0, bin - 1), high = std::min<int64_t>(bin + 2, last + 1);
    bin = std::upper_bound(edges.begin() + low, edges.begin() + high, value, is_less) -
          edges.begin() - 1;
  }
  return bin == last ? bin - 1 : bin;
}

template <class T>
std::vector<T> numbers_of(const Tensor& t) {
  const Tensor flat = t.contiguous();
  const auto* data = static_cast<const T*>(flat.data());
  return std::vector<T>(data, data + flat.numel());
}

template <class T>
std::vector<double> counts(const Tensor& points, const std::vector<std::vector<T>>& edges,
                           const Tensor& weight, Lookup lookup) {
  const auto columns = static_cast<int64_t>(edges.size());
  int64_t cells = 1;
  for (const auto& e : edges) cells *= static_cast<int64_t>(e.size()) - 1;
  std::vector<double> out(cells, 0.0);
  if (columns == 0) return out;
  const std::vector<T> values = numbers_of<T>(points);
  const std::vector<T> weights = weight.defined() ? numbers_of<T>(weight) : std::vector<T>();
  const auto rows = static_cast<int64_t>(values.size()) / columns;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t cell = 0;
    bool is_inside = true;
    for (int64_t d = 0; d < columns && is_inside; ++d) {
      const T value = values[row * columns + d];
      const auto& e = edges[d];
      is_inside = value >= e.front() && value <= e.back();
      if (is_inside) cell = cell * (static_cast<int64_t>(e.size()) - 1) + bin_of(value, e, lookup);
    }
    if (is_inside) out[cell] += weights.empty() ? 1.0 : static_cast<double>(weights[row]);
  }
  return out;
}

// Each cell divided by the sum and by its own volume.
template <class T>
void to_density(std::vector<double>& cells, const std::vector<std::vector<T>>& edges) {
  double total = 0;
  for (const double c : cells) total += c;
  for (size_t k = 0; k < cells.size(); ++k) {
    double volume = 1;
    size_t rest = k;
    for (size_t d = edges.size(); d-- > 0;) {
      const size_t bins = edges[d].size() - 1, bin = rest % bins;
      rest /= bins;
      volume *= static_cast<double>(edges[d][bin + 1]) - static_cast<double>(edges[d][bin]);
    }
    cells[k] = cells[k] / total / volume;
  }
}

void histogram(const Tensor& points, const std::vector<Tensor>& bins, const Tensor& weight,
               bool is_density, Lookup lookup, Tensor& hist) {
  visit_dtype(points.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                  std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      std::vector<std::vector<T>> edges;
      for (const Tensor& b : bins) edges.push_back(numbers_of<T>(b));
      std::vector<double> cells = counts(points, edges, weight, lookup);
      if (is_density) to_density(cells, edges);
      Tensor dense = hist.is_contiguous() ? hist : taeda::empty_like(hist).contiguous();
      auto* to = static_cast<T*>(dense.data());
      for (size_t k = 0; k < cells.size(); ++k) to[k] = narrowed<T>(cells[k]);
      if (!dense.is_same(hist)) hist.copy_(dense);
    }
  });
}

// The ends of histc's range: the given ones, the extremes where they are equal, one apart where
// these are too.
std::pair<double, double> histc_ends(const Tensor& self, double low, double high) {
  if (low == high && self.numel() > 0) {
    low = read_scalar(self.amin()).to_double();
    high = read_scalar(self.amax()).to_double();
  }
  if (low == high) {
    // The neighbouring number, within the finite ones.
    const auto next = [&](double x, bool is_up) {
      const auto of = [&]<class T>(T at) {
        using Limits = std::numeric_limits<T>;
        return static_cast<double>(std::nextafter(at, is_up ? Limits::max() : Limits::lowest()));
      };
      if (self.dtype() == DType::Double) return of(x);
      return self.dtype() == DType::Float ? of(static_cast<float>(x)) : x;
    };
    const double left = low, right = high;
    low = std::min(next(left, false), left - 1);
    high = std::max(next(right, true), right + 1);
  }
  check_histc_range(low, high);
  return {low, high};
}

}  // namespace

void histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max, Tensor& out) {
  const auto [low, high] = histc_ends(self, min.to_double(), max.to_double());
  const Tensor edges = taeda::linspace(Scalar(low), Scalar(high), bins + 1, self.dtype());
  const Tensor points = self.reshape({SymInt(-1), SymInt(1)});
  histogram(points, {edges}, Tensor(), false, Lookup::Divide, out);
}

void histogram_bins_tensor(const Tensor& self, const Tensor& bins, const Tensor& weight,
                           bool density, Tensor& hist, Tensor& bin_edges) {
  const Tensor points = self.reshape({SymInt(-1), SymInt(1)});
  histogram(points, {bins}, weight, density, Lookup::Search, hist);
  bin_edges.copy_(bins);
}
void histogram_bin_ct(const Tensor& self, int64_t bins, std::optional<Span<double>> range,
                      const Tensor& weight, bool density, Tensor& hist, Tensor& bin_edges) {
  const Tensor points = self.reshape({SymInt(-1), SymInt(1)});
  const std::vector<Tensor> edges = even_edges(points, IntList({bins}), range);
  histogram(points, edges, weight, density, Lookup::DivideAndCompare, hist);
  bin_edges.copy_(edges[0]);
}

void _histogramdd_from_bin_cts(const Tensor& self, IntList bins, std::optional<Span<double>> range,
                               const Tensor& weight, bool density, Tensor& out) {
  const Tensor points = as_points(self);
  histogram(points, even_edges(points, bins, range), weight, density, Lookup::DivideAndCompare,
            out);
}
void _histogramdd_from_bin_tensors(const Tensor& self, TensorList bins, const Tensor& weight,
                                   bool density, Tensor& out) {
  const std::vector<Tensor> edges(bins.begin(), bins.end());
  histogram(as_points(self), edges, weight, density, Lookup::Search, out);
}

}  // namespace taeda::cpu
