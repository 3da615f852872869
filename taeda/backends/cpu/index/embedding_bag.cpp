// embedding_bag and its gradients on the CPU.
#include <algorithm>
#include <vector>

#include "taeda/backends/cpu/embedding_declarations.h"
#include "taeda/backends/cpu/index/index_plan.h"
#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/embedding/bag_mode.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

template <class F>
void visit_rows(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float: return f(float{}, float{});
    case DType::Double: return f(double{}, double{});
    case DType::Half: return f(Half{}, float{});
    case DType::BFloat16: return f(BFloat16{}, float{});
    default: fail(ErrorKind::NotImplemented, "\"embedding_bag\" not implemented for '", dtype, "'");
  }
}

int64_t grain(int64_t width) { return std::max<int64_t>(1, 8192 / std::max<int64_t>(width, 1)); }

std::vector<int64_t> values_of(const Tensor& t) { return wrapped_offsets(int64_index(t), 0, 1); }

// The indices of each bag: [start[b], start[b + 1]).
struct Bags {
  std::vector<int64_t> rows, start;
  int64_t padding;

  Bags(const Tensor& indices, const Tensor& offsets, bool include_last_offset, int64_t padding_idx)
      : rows(values_of(indices)), start(values_of(offsets)), padding(padding_idx) {
    const auto count = static_cast<int64_t>(rows.size());
    if (!start.empty()) {
      TAEDA_CHECK(start.front() == 0,
                  "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                  "from position 0. However, got ",
                  start.front());
      TAEDA_CHECK(start.back() <= count, "offsets[-1] can not be greater than input's length ",
                  count, " but got offsets[-1] of ", start.back());
    }
    if (!include_last_offset) start.push_back(count);
    for (size_t b = 0; b + 1 < start.size(); ++b)
      TAEDA_CHECK(start[b] <= start[b + 1], "offsets must not decrease, but got ", start[b],
                  " before ", start[b + 1]);
  }
  // Two loops of PyTorch's, each with its words, sum and pick rows.
  void check_rows(const Tensor& weight, int64_t mode) const {
    const int64_t table = weight.sizes()[0];
    const bool names_place = mode != kMaxBag && padding < 0 && weight.dtype() != DType::Double &&
                             weight.strides()[1] == 1;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0 && rows[i] < table) continue;
      TAEDA_CHECK(!names_place, "Index ", i, " of input takes value ", rows[i],
                  " which is not in the valid range [0, ", table, ")");
      fail(ErrorKind::Runtime,
           "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be ",
           rows[i]);
    }
  }
  int64_t count() const { return static_cast<int64_t>(start.size()) - 1; }
  // f(place) for each index of a bag that counts; returns their number.
  template <class F>
  int64_t for_members(int64_t bag, F&& f) const {
    int64_t n = 0;
    for (int64_t i = start[static_cast<size_t>(bag)]; i < start[static_cast<size_t>(bag) + 1]; ++i)
      if (rows[static_cast<size_t>(i)] != padding) f(i), ++n;
    return n;
  }
};

struct BagResults {
  Tensor &output, &offset2bag, &bag_size, &max_indices;
};

template <class T>
const T* row_at(const Tensor& table, int64_t row) {
  return static_cast<const T*>(table.data()) + row * table.strides()[0];
}

// One bag's sum or mean into `to`; `size` receives the number of its rows.
template <class T, class Acc>
int64_t add_rows(const Tensor& weight, const Bags& bags, int64_t bag, const T* samples,
                 int64_t mode, std::vector<Acc>& sum) {
  const int64_t width = weight.sizes()[1], step = weight.strides()[1];
  std::fill(sum.begin(), sum.end(), Acc(0));
  const int64_t size = bags.for_members(bag, [&](int64_t i) {
    const T* row = row_at<T>(weight, bags.rows[static_cast<size_t>(i)]);
    const Acc by = samples ? static_cast<Acc>(samples[i]) : Acc(1);
    for (int64_t k = 0; k < width; ++k)
      sum[static_cast<size_t>(k)] += by * static_cast<Acc>(row[k * step]);
  });
  if (mode == kMeanBag && size > 1)
    for (Acc& v : sum) v /= static_cast<Acc>(size);
  return size;
}

// One bag's largest elements, and the rows they stand in.
template <class T, class Acc>
int64_t largest_rows(const Tensor& weight, const Bags& bags, int64_t bag, std::vector<Acc>& top,
                     std::vector<int64_t>& from) {
  const int64_t width = weight.sizes()[1], step = weight.strides()[1];
  std::fill(top.begin(), top.end(), Acc(0));
  std::fill(from.begin(), from.end(), 0);
  bool is_first = true;
  return bags.for_members(bag, [&](int64_t i) {
    const int64_t index = bags.rows[static_cast<size_t>(i)];
    const T* row = row_at<T>(weight, index);
    for (int64_t k = 0; k < width; ++k) {
      const auto at = static_cast<size_t>(k);
      const Acc v = static_cast<Acc>(row[k * step]);
      if (is_first || v > top[at]) top[at] = v, from[at] = index;
    }
    is_first = false;
  });
}

// Writes integers of either width into a tensor of the same number of elements.
void put(Tensor& out, const std::vector<int64_t>& values) {
  Tensor flat = make_tensor({static_cast<int64_t>(values.size())}, DType::Int64, out.device());
  std::copy(values.begin(), values.end(), static_cast<int64_t*>(flat.data()));
  out.copy_(flat.reshape(out.sizes()));
}

void gather_bags(const Tensor& weight, const Bags& bags, int64_t mode, const Tensor& given_samples,
                 const BagResults& to) {
  const int64_t width = weight.sizes()[1], count = bags.count();
  const Tensor samples = given_samples.defined() ? given_samples.contiguous() : given_samples;
  std::vector<int64_t> sizes(static_cast<size_t>(count)), bag_of(bags.rows.size(), kNoBag),
      largest(static_cast<size_t>(mode == kMaxBag ? count * width : 0));
  visit_rows(weight.dtype(), [&](auto tag, auto wide) {
    using T = decltype(tag);
    using Acc = decltype(wide);
    const T* by = samples.defined() ? static_cast<const T*>(samples.data()) : nullptr;
    parallel_for(0, count, grain(width), [&](int64_t first, int64_t last) {
      std::vector<Acc> row(static_cast<size_t>(width));
      std::vector<int64_t> from(static_cast<size_t>(width));
      for (int64_t b = first; b < last; ++b) {
        const int64_t size = mode == kMaxBag ? largest_rows<T>(weight, bags, b, row, from)
                                             : add_rows<T>(weight, bags, b, by, mode, row);
        sizes[static_cast<size_t>(b)] = size;
        if (mode == kMaxBag) std::copy(from.begin(), from.end(), largest.begin() + b * width);
        T* out = static_cast<T*>(to.output.data()) + b * to.output.strides()[0];
        for (int64_t k = 0; k < width; ++k)
          out[k * to.output.strides()[1]] = static_cast<T>(row[static_cast<size_t>(k)]);
        std::fill(bag_of.begin() + bags.start[static_cast<size_t>(b)],
                  bag_of.begin() + bags.start[static_cast<size_t>(b) + 1], b);
      }
    });
  });
  // As in PyTorch, sums do not tell their sizes.
  if (mode == kSumBag) std::fill(sizes.begin(), sizes.end(), 0);
  put(to.offset2bag, bag_of);
  put(to.bag_size, sizes);
  put(to.max_indices, mode == kMaxBag ? largest : sizes);
}

// The numbers of a tensor, each of which names one of `count` things, from `least` on.
std::vector<int64_t> names_in(const Tensor& t, const char* name, int64_t count, int64_t least = 0) {
  std::vector<int64_t> values = values_of(t);
  for (const int64_t value : values)
    TAEDA_CHECK(value >= least && value < count, "embedding_bag: expected ", name, " between ",
                least, " and ", count, ", got ", value);
  return values;
}

// How many times each row of a table is named.
std::vector<int64_t> frequencies(const std::vector<int64_t>& rows, int64_t table) {
  std::vector<int64_t> counts(static_cast<size_t>(table));
  for (int64_t row : rows) ++counts[static_cast<size_t>(row)];
  return counts;
}

// Places of `rows` sorted by row, so that threads may take whole rows; equal ones stay in order.
std::vector<int64_t> places_by_row(const std::vector<int64_t>& rows) {
  std::vector<int64_t> places(rows.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
    return rows[static_cast<size_t>(a)] < rows[static_cast<size_t>(b)];
  });
  return places;
}

// The factor of each index's gradient.
struct Shares {
  const std::vector<int64_t>&rows, &bag_of, &sizes;
  std::vector<double> samples;
  std::vector<int64_t> counts;  // empty: gradients are not divided by frequencies
  int64_t mode;

  double operator()(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    double share = samples.empty() ? 1.0 : samples[at];
    if (!counts.empty()) share /= static_cast<double>(counts[static_cast<size_t>(rows[at])]);
    const int64_t size = mode == kMeanBag ? sizes[static_cast<size_t>(bag_of[at])] : 1;
    return size > 1 ? share / static_cast<double>(size) : share;
  }
};

template <class T, class Acc>
void scatter_sums(const Tensor& grad, const std::vector<int64_t>& rows,
                  const std::vector<int64_t>& bag_of, const Shares& share, int64_t padding,
                  Tensor& out) {
  const int64_t width = grad.sizes()[1];
  const std::vector<int64_t> places = places_by_row(rows);
  const auto count = static_cast<int64_t>(places.size());
  const auto row_of = [&](int64_t k) {
    return rows[static_cast<size_t>(places[static_cast<size_t>(k)])];
  };
  parallel_for(0, count, grain(width), [&](int64_t first, int64_t last) {
    // A row belongs to the part in which its first place stands.
    while (first > 0 && first < last && row_of(first) == row_of(first - 1)) ++first;
    while (last > first && last < count && row_of(last) == row_of(last - 1)) ++last;
    std::vector<Acc> sum(static_cast<size_t>(width));
    for (int64_t k = first; k < last;) {
      const int64_t row = row_of(k);
      std::fill(sum.begin(), sum.end(), Acc(0));
      for (; k < last && row_of(k) == row; ++k) {
        const int64_t place = places[static_cast<size_t>(k)];
        const int64_t bag = bag_of[static_cast<size_t>(place)];
        if (bag == kNoBag) continue;
        const T* from = row_at<T>(grad, bag);
        const Acc by = static_cast<Acc>(share(place));
        for (int64_t c = 0; c < width; ++c)
          sum[static_cast<size_t>(c)] += by * static_cast<Acc>(from[c * grad.strides()[1]]);
      }
      if (row == padding) continue;
      T* to = static_cast<T*>(out.data()) + row * out.strides()[0];
      for (int64_t c = 0; c < width; ++c)
        to[c * out.strides()[1]] = static_cast<T>(sum[static_cast<size_t>(c)]);
    }
  });
}

// Adds each bag's gradient at the rows of its maxima.
template <class T, class Acc>
void scatter_maxima(const Tensor& grad, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>& largest, Tensor& out) {
  const int64_t width = grad.sizes()[1];
  parallel_for(0, width, 1, [&](int64_t first, int64_t last) {
    std::vector<Acc> sum(static_cast<size_t>(out.sizes()[0]));
    for (int64_t c = first; c < last; ++c) {
      std::fill(sum.begin(), sum.end(), Acc(0));
      for (int64_t b = 0; b < grad.sizes()[0]; ++b)
        if (sizes[static_cast<size_t>(b)] != 0)
          sum[static_cast<size_t>(largest[static_cast<size_t>(b * width + c)])] +=
              static_cast<Acc>(row_at<T>(grad, b)[c * grad.strides()[1]]);
      for (int64_t r = 0; r < out.sizes()[0]; ++r)
        static_cast<T*>(out.data())[r * out.strides()[0] + c * out.strides()[1]] =
            static_cast<T>(sum[static_cast<size_t>(r)]);
    }
  });
}

std::vector<double> sample_weights(const Tensor& samples) {
  if (!samples.defined()) return {};
  const Tensor wide = samples.to(DType::Double).contiguous();
  const auto* data = static_cast<const double*>(wide.data());
  return std::vector<double>(data, data + wide.numel());
}

}  // namespace

void _embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool,
                    int64_t mode, bool, const Tensor& per_sample_weights, bool include_last_offset,
                    int64_t padding_idx, Tensor& output, Tensor& offset2bag, Tensor& bag_size,
                    Tensor& max_indices) {
  const Bags bags(indices, offsets, include_last_offset, padding_idx);
  bags.check_rows(weight, mode);
  gather_bags(weight, bags, mode, per_sample_weights, {output, offset2bag, bag_size, max_indices});
}

void _embedding_bag_forward_only(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                                 bool scale_grad_by_freq, int64_t mode, bool sparse,
                                 const Tensor& per_sample_weights, bool include_last_offset,
                                 int64_t padding_idx, Tensor& output, Tensor& offset2bag,
                                 Tensor& bag_size, Tensor& max_indices) {
  _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
                 include_last_offset, padding_idx, output, offset2bag, bag_size, max_indices);
}

void _embedding_bag_dense_backward(const Tensor& grad, const Tensor& indices,
                                   const Tensor& offset2bag, const Tensor& bag_size,
                                   const Tensor& maximum_indices, SymInt num_weights,
                                   bool scale_grad_by_freq, int64_t mode,
                                   const Tensor& per_sample_weights, int64_t padding_idx,
                                   Tensor& out) {
  out.fill_(Scalar(0));
  if (out.numel() == 0) return;
  const int64_t table = num_weights.expect_int();
  const std::vector<int64_t> rows = names_in(indices, "indices", table),
                             bag_of = names_in(offset2bag, "offset2bag", grad.sizes()[0], kNoBag),
                             sizes = values_of(bag_size);
  std::vector<int64_t> largest;
  if (mode == kMaxBag) largest = names_in(maximum_indices, "maximum_indices", table);
  const Shares share{rows,
                     bag_of,
                     sizes,
                     sample_weights(per_sample_weights),
                     scale_grad_by_freq ? frequencies(rows, table) : std::vector<int64_t>(),
                     mode};
  visit_rows(grad.dtype(), [&](auto tag, auto wide) {
    using T = decltype(tag);
    using Acc = decltype(wide);
    if (mode == kMaxBag)
      scatter_maxima<T, Acc>(grad, sizes, largest, out);
    else
      scatter_sums<T, Acc>(grad, rows, bag_of, share, padding_idx, out);
  });
}

void _embedding_bag_per_sample_weights_backward(const Tensor& grad, const Tensor& weight,
                                                const Tensor& indices, const Tensor&,
                                                const Tensor& offset2bag, int64_t,
                                                int64_t padding_idx, Tensor& out) {
  const std::vector<int64_t> rows = names_in(indices, "indices", weight.sizes()[0]),
                             bag_of = names_in(offset2bag, "offset2bag", grad.sizes()[0], kNoBag);
  const int64_t width = weight.sizes()[1], by_grad = grad.strides()[1],
                by_weight = weight.strides()[1];
  visit_rows(grad.dtype(), [&](auto tag, auto wide) {
    using T = decltype(tag);
    using Acc = decltype(wide);
    parallel_for(
        0, static_cast<int64_t>(rows.size()), grain(width), [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) {
            const int64_t bag = bag_of[static_cast<size_t>(i)];
            const int64_t row = rows[static_cast<size_t>(i)];
            Acc sum = 0;
            if (bag != kNoBag && row != padding_idx) {
              const T* a = row_at<T>(grad, bag);
              const T* b = row_at<T>(weight, row);
              for (int64_t k = 0; k < width; ++k)
                sum += static_cast<Acc>(a[k * by_grad]) * static_cast<Acc>(b[k * by_weight]);
            }
            static_cast<T*>(out.data())[i * out.strides()[0]] = static_cast<T>(sum);
          }
        });
  });
}

}  // namespace taeda::cpu
