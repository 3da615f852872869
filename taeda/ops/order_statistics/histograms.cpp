// Shapes and checks of histograms, and their edges.
#include <cmath>

#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/order_statistics/bins.h"
#include "taeda/ops/order_statistics/declarations.h"

namespace taeda {

Tensor as_points(const Tensor& self) { return self.reshape({SymInt(-1), self.sym_size(-1)}); }

std::vector<std::pair<double, double>> outer_edges(const Tensor& points, int64_t columns,
                                                   std::optional<Span<double>> range) {
  const bool has_values = !points.is_meta() && !dispatch::has_no_memory(points);
  std::vector<std::pair<double, double>> edges(columns, {0.0, 1.0});
  TAEDA_CHECK(!range || static_cast<int64_t>(range->size()) == 2 * columns,
              "torch.histogramdd: for a ", columns, "-dimensional histogram range should have ",
              2 * columns, " elements, but got ", range ? range->size() : 0);
  for (int64_t d = 0; d < columns; ++d) {
    auto& [low, high] = edges[d];
    if (range) {
      low = (*range)[2 * d];
      high = (*range)[2 * d + 1];
    } else if (has_values && points.sym_numel() > SymInt(0)) {
      const Tensor column = points.select(1, d);
      low = column.amin().item().to_double();
      high = column.amax().item().to_double();
    }
    TAEDA_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histogramdd: dimension ", d,
                "'s range [", low, ", ", high, "] is not finite");
    TAEDA_CHECK(low <= high, "torch.histogramdd: min should not exceed max, but got min ", low,
                " max ", high, " for dimension ", d);
    if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
  }
  return edges;
}

void check_histc_range(double low, double high) {
  TAEDA_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histc: range of [", low, ", ", high,
              "] is not finite");
  TAEDA_CHECK(low < high, "torch.histc: max must be larger than min");
}

std::vector<Tensor> even_edges(const Tensor& points, IntList bins,
                               std::optional<Span<double>> range) {
  const auto columns = static_cast<int64_t>(bins.size());
  TAEDA_CHECK(points.sym_size(1) == SymInt(columns),
              "histogramdd: The size of bins must be equal to the innermost dimension of the "
              "input.");
  const auto ends = outer_edges(points, columns, range);
  std::vector<Tensor> edges;
  for (size_t d = 0; d < bins.size(); ++d)
    edges.push_back(taeda::linspace(Scalar(ends[d].first), Scalar(ends[d].second), bins[d] + 1,
                                    points.dtype(), {}, points.device()));
  return edges;
}

namespace impl {
namespace {

void check_counted_dtype(const Tensor& self) {
  TAEDA_CHECK_NOT_IMPLEMENTED(self.dtype() == DType::Float || self.dtype() == DType::Double,
                              "\"histogram_cpu\" not implemented for '", self.dtype(), "'");
}
void check_bin_count(const SymInt& bins, int64_t dim) {
  TAEDA_CHECK(bins > SymInt(0), "torch.histogram(): bins must be > 0, but got ", bins,
              " for dimension ", dim);
}

// `sizes`: those of the points, one weight for each.
void check_histogram_weight(const Tensor& self, const Tensor& weight, SymIntList sizes) {
  if (!weight.defined()) return;
  TAEDA_CHECK(self.dtype() == weight.dtype(),
              "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
              "should have the same dtype, but got input(",
              self.dtype(), "), and weight(", weight.dtype(), ")");
  const SymIntVec one{SymInt(1)};
  const SymIntList given = weight.dim() == 0 ? SymIntList(one) : weight.sym_sizes();
  TAEDA_CHECK(sizes == given,
              "torch.histogramdd: if weight tensor is provided it should have the same shape as "
              "the input tensor excluding its innermost dimension, but got input with shape ",
              self.sym_sizes(), " and weight with shape ", weight.sym_sizes());
}

void check_edges(const Tensor& self, const Tensor& edges, int64_t dim) {
  TAEDA_CHECK(self.dtype() == edges.dtype(),
              "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
              "got input with dtype ",
              self.dtype(), " and bins for dimension ", dim, " with dtype ", edges.dtype());
  TAEDA_CHECK(edges.dim() == 1,
              "torch.histogramdd: bins tensor should have one dimension, but got ", edges.dim(),
              " dimensions in the bins tensor for dimension ", dim);
  TAEDA_CHECK(edges.sym_numel() > SymInt(0),
              "torch.histogramdd: bins tensor should have at least 1 element, but got ",
              edges.sym_numel(), " elements in the bins tensor for dimension ", dim);
  check_bin_count(edges.sym_numel() - SymInt(1), dim);
}

SymIntList without_last(const Tensor& self) {
  return self.sym_sizes().slice(0, self.sym_sizes().size() - 1);
}
void check_points(const Tensor& self) {
  TAEDA_CHECK(self.dim() >= 2,
              "torch.histogramdd: input tensor should have at least 2 dimensions, but got ",
              self.dim());
}

std::array<OutSpec, 2> histogram_spec(const Tensor& self, const SymInt& bins) {
  return {OutSpec(SymIntList({bins}), self.dtype(), self.device()),
          OutSpec(SymIntList({bins + SymInt(1)}), self.dtype(), self.device())};
}
void check_flat_weight(const Tensor& self, const Tensor& weight) {
  if (!weight.defined()) return;
  const SymIntVec sizes{self.sym_numel()};
  const Tensor flat = weight.reshape({SymInt(-1)});
  check_histogram_weight(self, flat, sizes);
}

}  // namespace

OutSpec histc_spec(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  const double low = min.to_double(), high = max.to_double();
  if (low != high) check_histc_range(low, high);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(self.dtype()), "\"histogram_cpu\" not implemented for '",
                              self.dtype(), "'");
  TAEDA_CHECK(bins > 0, "torch.histc(): bins must be > 0, but got ", bins, " for dimension 0");
  return OutSpec(SymIntList({SymInt(bins)}), self.dtype(), self.device());
}

std::array<OutSpec, 2> histogram_bins_tensor_spec(const Tensor& self, const Tensor& bins,
                                                  const Tensor& weight, bool) {
  check_edges(self, bins, 0);
  check_flat_weight(self, weight);
  check_counted_dtype(self);
  return histogram_spec(self, bins.sym_numel() - SymInt(1));
}
std::array<OutSpec, 2> histogram_bin_ct_spec(const Tensor& self, int64_t bins,
                                             std::optional<Span<double>>, const Tensor& weight,
                                             bool) {
  check_bin_count(SymInt(bins), 0);
  check_flat_weight(self, weight);
  check_counted_dtype(self);
  return histogram_spec(self, SymInt(bins));
}

std::vector<Tensor> _histogramdd_bin_edges(const Tensor& self, IntList bins,
                                           std::optional<Span<double>> range, const Tensor&, bool) {
  check_points(self);
  check_counted_dtype(self);
  return even_edges(as_points(self), bins, range);
}

OutSpec _histogramdd_from_bin_cts_spec(const Tensor& self, IntList bins,
                                       std::optional<Span<double>>, const Tensor& weight, bool) {
  check_points(self);
  for (size_t d = 0; d < bins.size(); ++d)
    check_bin_count(SymInt(bins[d]), static_cast<int64_t>(d));
  check_histogram_weight(self, weight, without_last(self));
  check_counted_dtype(self);
  return OutSpec(bins, self.dtype(), self.device());
}

OutSpec _histogramdd_from_bin_tensors_spec(const Tensor& self, TensorList bins,
                                           const Tensor& weight, bool) {
  check_points(self);
  const SymInt columns = self.sym_size(-1);
  TAEDA_CHECK(columns == SymInt(static_cast<int64_t>(bins.size())), "torch.histogramdd: expected ",
              columns, " sequences of bin edges for a ", columns, "-dimensional histogram but got ",
              bins.size());
  SymIntVec sizes;
  for (size_t d = 0; d < bins.size(); ++d) {
    check_edges(self, bins[d], static_cast<int64_t>(d));
    sizes.push_back(bins[d].sym_numel() - SymInt(1));
  }
  check_histogram_weight(self, weight, without_last(self));
  check_counted_dtype(self);
  return OutSpec(SymIntList(sizes), self.dtype(), self.device());
}

std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& self, IntList bins,
                                                    std::optional<Span<double>> range,
                                                    const Tensor& weight, bool density) {
  std::vector<Tensor> edges = taeda::_histogramdd_bin_edges(self, bins, range, weight, density);
  return {taeda::_histogramdd_from_bin_cts(self, bins, range, weight, density), std::move(edges)};
}
std::tuple<Tensor, std::vector<Tensor>> histogramdd_int_bins(const Tensor& self, int64_t bins,
                                                             std::optional<Span<double>> range,
                                                             const Tensor& weight, bool density) {
  check_points(self);
  const std::vector<int64_t> each(self.size(-1), bins);
  return taeda::histogramdd(self, each, range, weight, density);
}
std::tuple<Tensor, std::vector<Tensor>> histogramdd_TensorList_bins(const Tensor& self,
                                                                    TensorList bins,
                                                                    std::optional<Span<double>>,
                                                                    const Tensor& weight,
                                                                    bool density) {
  return {taeda::_histogramdd_from_bin_tensors(self, bins, weight, density),
          std::vector<Tensor>(bins.begin(), bins.end())};
}

}  // namespace impl
}  // namespace taeda
