// Gradients of embedding_bag on the CPU.
#pragma GCC optimize("O3")
#include <algorithm>
#include <numeric>
#include <vector>

#include "taeda/backends/cpu/embedding_declarations.h"
#include "taeda/backends/cpu/index/bag_rows.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/embedding/bag_mode.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

// The numbers of a tensor, each of which names one of `count` things, from `least` on.
std::vector<int64_t> names_in(const Tensor& t, const char* name, int64_t count, int64_t least = 0) {
  std::vector<int64_t> values = values_of(t);
  for (const int64_t value : values)
    TAEDA_CHECK(value >= least && value < count, "embedding_bag: expected ", name, " between ",
                least, " and ", count, ", got ", value);
  return values;
}

// The places at which each row of a table is named: of row r, places[start[r]] and on, in order.
struct PlacesByRow {
  std::vector<int64_t> start, places;

  PlacesByRow(const std::vector<int64_t>& rows, int64_t table)
      : start(static_cast<size_t>(table) + 1), places(rows.size()) {
    for (const int64_t row : rows) ++start[static_cast<size_t>(row) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    for (size_t i = 0; i < rows.size(); ++i)
      places[static_cast<size_t>(next[static_cast<size_t>(rows[i])]++)] = static_cast<int64_t>(i);
  }
  int64_t frequency(int64_t row) const {
    return start[static_cast<size_t>(row) + 1] - start[static_cast<size_t>(row)];
  }
};

// The factor of each index's gradient.
struct Shares {
  const std::vector<int64_t>&rows, &bag_of, &sizes;
  std::vector<double> samples;
  const PlacesByRow* by_row;  // null: gradients are not divided by frequencies
  int64_t mode;

  double operator()(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    double share = samples.empty() ? 1.0 : samples[at];
    if (by_row) share /= static_cast<double>(by_row->frequency(rows[at]));
    const int64_t size = mode == kMeanBag ? sizes[static_cast<size_t>(bag_of[at])] : 1;
    return size > 1 ? share / static_cast<double>(size) : share;
  }
};

// Writes each row of `out`: what add(place, sum) adds for the places that name it.
template <class T, class Acc, class Add>
void write_rows(const PlacesByRow& by_row, const Tensor& out, const Add& add) {
  const Rows<T> to(out);
  parallel_for(0, out.sizes()[0], bag_grain(to.width), [&](int64_t first, int64_t last) {
    std::vector<Acc> sum(static_cast<size_t>(to.width));
    for (int64_t r = first; r < last; ++r) {
      const auto row = static_cast<size_t>(r);
      if (by_row.frequency(r) == 0) {
        to.each(r, [](int64_t, T& v) { v = T(Acc(0)); });
        continue;
      }
      std::fill(sum.begin(), sum.end(), Acc(0));
      for (int64_t i = by_row.start[row]; i < by_row.start[row + 1]; ++i)
        add(by_row.places[static_cast<size_t>(i)], sum.data());
      const Acc* const from = sum.data();
      to.each(r, [=](int64_t k, T& v) { v = static_cast<T>(from[k]); });
    }
  });
}

template <class T, class Acc>
void scatter_sums(const Tensor& grad, const PlacesByRow& by_row, const Shares& share,
                  int64_t padding, const Tensor& out) {
  const Rows<T> from(grad);
  write_rows<T, Acc>(by_row, out, [&](int64_t place, Acc* __restrict sum) {
    const auto at = static_cast<size_t>(place);
    const int64_t bag = share.bag_of[at];
    if (bag == kNoBag || share.rows[at] == padding) return;
    const Acc by = static_cast<Acc>(share(place));
    from.each(bag, [=](int64_t k, T v) { sum[k] += by * static_cast<Acc>(v); });
  });
}

// Adds each bag's gradient at the rows of its maxima; places are those of all bags' columns.
template <class T, class Acc>
void scatter_maxima(const Tensor& grad, const std::vector<int64_t>& sizes,
                    const PlacesByRow& by_row, const Tensor& out) {
  const Rows<T> from(grad);
  write_rows<T, Acc>(by_row, out, [&](int64_t place, Acc* sum) {
    const int64_t bag = place / from.width, k = place % from.width;
    if (sizes[static_cast<size_t>(bag)] != 0) sum[k] += static_cast<Acc>(from[bag][k * from.step]);
  });
}

std::vector<double> sample_weights(const Tensor& samples) {
  if (!samples.defined()) return {};
  const Tensor wide = samples.to(DType::Double).contiguous();
  const auto* data = static_cast<const double*>(wide.data());
  return std::vector<double>(data, data + wide.numel());
}

}  // namespace

void _embedding_bag_dense_backward(const Tensor& grad, const Tensor& indices,
                                   const Tensor& offset2bag, const Tensor& bag_size,
                                   const Tensor& maximum_indices, SymInt num_weights,
                                   bool scale_grad_by_freq, int64_t mode,
                                   const Tensor& per_sample_weights, int64_t padding_idx,
                                   Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t table = num_weights.expect_int();
  const std::vector<int64_t> rows = names_in(indices, "indices", table),
                             bag_of = names_in(offset2bag, "offset2bag", grad.sizes()[0], kNoBag),
                             sizes = values_of(bag_size);
  const bool is_max = mode == kMaxBag;
  const PlacesByRow by_row(is_max ? names_in(maximum_indices, "maximum_indices", table) : rows,
                           table);
  const Shares share{rows,
                     bag_of,
                     sizes,
                     sample_weights(per_sample_weights),
                     scale_grad_by_freq ? &by_row : nullptr,
                     mode};
  visit_rows(grad.dtype(), [&](auto tag, auto wide) {
    using T = decltype(tag);
    using Acc = decltype(wide);
    if (is_max)
      scatter_maxima<T, Acc>(grad, sizes, by_row, out);
    else
      scatter_sums<T, Acc>(grad, by_row, share, padding_idx, out);
  });
}

void _embedding_bag_per_sample_weights_backward(const Tensor& grad, const Tensor& weight,
                                                const Tensor& indices, const Tensor&,
                                                const Tensor& offset2bag, int64_t,
                                                int64_t padding_idx, Tensor& out) {
  const std::vector<int64_t> rows = names_in(indices, "indices", weight.sizes()[0]),
                             bag_of = names_in(offset2bag, "offset2bag", grad.sizes()[0], kNoBag);
  visit_rows(grad.dtype(), [&](auto tag, auto wide) {
    using T = decltype(tag);
    using Acc = decltype(wide);
    const Rows<T> grads(grad), table(weight);
    const int64_t count = static_cast<int64_t>(rows.size()), width = table.width;
    parallel_for(0, count, bag_grain(width), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t bag = bag_of[static_cast<size_t>(i)];
        const int64_t row = rows[static_cast<size_t>(i)];
        Acc sum = 0;
        if (bag != kNoBag && row != padding_idx) {
          const T *a = grads[bag], *b = table[row];
          for (int64_t k = 0; k < width; ++k)
            sum += static_cast<Acc>(a[k * grads.step]) * static_cast<Acc>(b[k * table.step]);
        }
        static_cast<T*>(out.data())[i * out.strides()[0]] = static_cast<T>(sum);
      }
    });
  });
}

}  // namespace taeda::cpu
