// Batching rules of histograms: each example has edges of its own and counts into its own cells.
#include "taeda/ops/factory/spaced_numbers.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/order_statistics/batching.h"
#include "taeda/ops/order_statistics/bins.h"
#include "taeda/ops/order_statistics/functions.h"

namespace taeda::batch {
namespace {

using CellRange = std::optional<Span<double>>;

// Points of all examples, (batch, points) per column, and what each point counts.
struct CountedPoints {
  std::vector<Tensor> columns;
  Tensor weight;
  DType dtype;

  // Every element of `self` is a point where it has one column.
  CountedPoints(const Batched& self, const Batched& given, bool has_columns)
      : dtype(self.value.dtype()) {
    const SymInt& size = batch_context().size;
    const Tensor all = self.front_expanded(size);
    const Tensor points =
        all.reshape({size, SymInt(-1), has_columns ? all.sym_size(-1) : SymInt(1)});
    for (int64_t d = 0, n = points.sym_size(2).expect_int(); d < n; ++d)
      columns.push_back(points.select(2, d));
    const SymIntVec shape{size, points.sym_size(1)};
    weight = given.defined() ? given.front_expanded(size).reshape(shape).to(DType::Double)
                             : taeda::ones(shape, DType::Double, {}, points.device());
  }
};

// From `low` to `high`, (batch), in steps of one width, rounded once as the kernels do.
Tensor edges_between(const Tensor& low, const Tensor& high, int64_t bins) {
  const auto wide = [](const Tensor& t) { return t.to(DType::Double).unsqueeze(1); };
  return spaced_numbers(wide(low), wide(high), bins + 1, {}, DType::Double, {}, low.device(), {})
      .to(low.dtype());
}

// The extremes of each example, which lie `margin` apart from themselves where they are equal.
Tensor edges_of(const Tensor& values, int64_t bins, double margin) {
  Tensor low = values.new_zeros({values.sym_size(0)}), high = low + Scalar(1);
  if (values.sym_size(1) > SymInt(0)) {
    low = values.amin(IntList({1}));
    high = values.amax(IntList({1}));
  }
  const Tensor is_one = low.eq(high);
  return edges_between(taeda::where(is_one, low - Scalar(margin), low),
                       taeda::where(is_one, high + Scalar(margin), high), bins);
}

Tensor edges_in(const Tensor& values, double low, double high, int64_t bins) {
  const SymIntVec shape{values.sym_size(0)};
  return edges_between(values.new_full(shape, Scalar(low)), values.new_full(shape, Scalar(high)),
                       bins);
}

std::vector<Tensor> even_columns(const CountedPoints& points, IntList bins,
                                 const CellRange& range) {
  TAEDA_CHECK(points.columns.size() == bins.size(),
              "histogramdd: The size of bins must be equal to the innermost dimension of the "
              "input.");
  std::vector<Tensor> edges;
  if (range) {
    const auto ends = outer_edges(points.weight, static_cast<int64_t>(bins.size()), range);
    for (size_t d = 0; d < bins.size(); ++d)
      edges.push_back(edges_in(points.columns[d], ends[d].first, ends[d].second, bins[d]));
    return edges;
  }
  for (size_t d = 0; d < bins.size(); ++d)
    edges.push_back(edges_of(points.columns[d], bins[d], 0.5));
  return edges;
}

// The bin of each value by search; the last one includes its right edge.
Tensor searched_bins(const Tensor& values, const Tensor& edges) {
  const Tensor after = taeda::searchsorted(edges.contiguous(), values.contiguous(), false, true);
  return after.sub(Scalar(1)).clamp(Scalar(0), Scalar(edges.sym_size(1) - SymInt(2)));
}
// By its distance from the first edge, for edges of one width.
Tensor divided_bins(const Tensor& values, const Tensor& edges) {
  const SymInt bins = edges.sym_size(1) - SymInt(1);
  const Tensor first = edges.narrow(1, 0, 1), width = edges.narrow(1, bins, 1) - first;
  const Tensor place = (values - first).mul(Scalar(bins)).div(width);
  return place.nan_to_num().clamp(Scalar(0), Scalar(bins - SymInt(1))).to(DType::Int64);
}

// Each cell divided by the sum of its example and by its own volume.
Tensor density_of(const Tensor& cells, const std::vector<Tensor>& edges) {
  Tensor volume = taeda::ones({cells.sym_size(0), SymInt(1)}, DType::Double, {}, cells.device());
  for (const Tensor& e : edges) {
    const Tensor wide = e.to(DType::Double);
    const SymInt bins = e.sym_size(1) - SymInt(1);
    const Tensor widths = wide.narrow(1, 1, bins) - wide.narrow(1, 0, bins);
    volume = (volume.unsqueeze(2) * widths.unsqueeze(1)).flatten(1);
  }
  return cells.div(cells.sum(IntList({1}), true)).div(volume);
}

template <class Bins>
Tensor counted_cells(const CountedPoints& points, const std::vector<Tensor>& edges, bool density,
                     Bins&& bins) {
  const SymInt& size = batch_context().size;
  Tensor cell = taeda::zeros_like(points.weight, DType::Int64);
  Tensor is_inside = taeda::ones_like(points.weight, DType::Bool);
  SymIntVec shape{size};
  SymInt count = 1;
  for (size_t d = 0; d < edges.size(); ++d) {
    const Tensor &values = points.columns[d], &e = edges[d];
    const SymInt n = e.sym_size(1) - SymInt(1);
    is_inside = is_inside.logical_and(values.ge(e.narrow(1, 0, 1)))
                    .logical_and(values.le(e.narrow(1, n, 1)));
    cell = cell * Scalar(n) + bins(values, e);
    shape.push_back(n);
    count = count * n;
  }
  const Tensor is_outside = is_inside.logical_not();
  Tensor cells = taeda::zeros({size, count}, DType::Double, {}, cell.device())
                     .scatter_add(1, cell.masked_fill(is_outside, Scalar(0)),
                                  points.weight.masked_fill(is_outside, Scalar(0)));
  if (density) cells = density_of(cells, edges);
  return cells.reshape(shape).to(points.dtype);
}

}  // namespace

Batched histc(const Batched& self, int64_t bins, const Scalar& min, const Scalar& max) {
  const CountedPoints points(self, Batched(), false);
  const double low = min.to_double(), high = max.to_double();
  TAEDA_CHECK(low <= high, "torch.histc: max must be larger than min");
  const Tensor& values = points.columns[0];
  const Tensor edges = low == high ? edges_of(values, bins, 1) : edges_in(values, low, high, bins);
  return {counted_cells(points, {edges}, false, divided_bins), 0};
}

std::tuple<Batched, Batched> histogram_bins_tensor(const Batched& self, const Batched& bins,
                                                   const Batched& weight, bool density) {
  const CountedPoints points(self, weight, false);
  const Tensor edges = bins.front_expanded(batch_context().size);
  return {Batched(counted_cells(points, {edges}, density, searched_bins), 0),
          Batched(edges.clone(), 0)};
}

std::tuple<Batched, Batched> histogram_bin_ct(const Batched& self, int64_t bins, CellRange range,
                                              const Batched& weight, bool density) {
  const CountedPoints points(self, weight, false);
  const std::vector<Tensor> edges = even_columns(points, IntList({bins}), range);
  return {Batched(counted_cells(points, edges, density, searched_bins), 0), Batched(edges[0], 0)};
}

Batched _histogramdd_from_bin_cts(const Batched& self, IntList bins, CellRange range,
                                  const Batched& weight, bool density) {
  const CountedPoints points(self, weight, true);
  return {counted_cells(points, even_columns(points, bins, range), density, searched_bins), 0};
}

Batched _histogramdd_from_bin_tensors(const Batched& self, const BatchedList& bins,
                                      const Batched& weight, bool density) {
  const CountedPoints points(self, weight, true);
  std::vector<Tensor> edges;
  for (const Batched& b : bins) edges.push_back(b.front_expanded(batch_context().size));
  return {counted_cells(points, edges, density, searched_bins), 0};
}

}  // namespace taeda::batch
