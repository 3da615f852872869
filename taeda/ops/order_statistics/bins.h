// The outer edges of histograms.
#pragma once

#include <utility>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda {

// The least and the greatest edge for each of the columns of `points`, a matrix: those of `range`,
// or the extremes of the column.
TAEDA_API std::vector<std::pair<double, double>> outer_edges(const Tensor& points, int64_t columns,
                                                             std::optional<Span<double>> range);
// `bins` intervals of equal width for each column.
TAEDA_API std::vector<Tensor> even_edges(const Tensor& points, IntList bins,
                                         std::optional<Span<double>> range);
// Refuses a range for histc that is not finite, or empty.
TAEDA_API void check_histc_range(double low, double high);
// A point per row, a column per dimension.
TAEDA_API Tensor as_points(const Tensor& self);

}  // namespace taeda
