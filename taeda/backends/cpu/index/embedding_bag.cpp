// embedding_bag on the CPU.
#pragma GCC optimize("O3")
#include <algorithm>
#include <type_traits>
#include <vector>

#include "taeda/backends/cpu/embedding_declarations.h"
#include "taeda/backends/cpu/index/bag_rows.h"
#include "taeda/backends/cpu/index/bag_sums.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/embedding/bag_mode.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

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

// Places ahead whose rows are asked for while one is added.
constexpr int64_t kAhead = 6;

template <class T>
void expect_row(const Rows<T>& weight, const Bags& bags, int64_t place) {
  const auto ahead = static_cast<size_t>(place + kAhead);
  if (ahead < bags.rows.size()) weight.expect(bags.rows[ahead]);
}

template <class T, class Acc>
int64_t sum_bag(const Rows<T>& weight, const Bags& bags, int64_t bag, const T* samples,
                Acc* __restrict to) {
  if constexpr (std::is_same_v<T, Acc>)
    if (weight.step == 1) {
      const int64_t begin = bags.start[static_cast<size_t>(bag)],
                    count = bags.start[static_cast<size_t>(bag) + 1] - begin,
                    all = static_cast<int64_t>(bags.rows.size());
      return bag_sum<T>()({weight.data, weight.pitch, weight.width, bags.rows.data() + begin, count,
                           all - begin - count, bags.padding, samples ? samples + begin : nullptr},
                          to);
    }
  std::fill_n(to, weight.width, Acc(0));
  return bags.for_members(bag, [&](int64_t i) {
    expect_row(weight, bags, i);
    const Acc by = samples ? static_cast<Acc>(samples[i]) : Acc(1);
    weight.each(bags.rows[static_cast<size_t>(i)],
                [=](int64_t k, T v) { to[k] += by * static_cast<Acc>(v); });
  });
}

// One bag's sum or mean; returns the number of its rows.
template <class T, class Acc>
int64_t add_rows(const Rows<T>& weight, const Bags& bags, int64_t bag, const T* samples,
                 int64_t mode, Acc* to) {
  const int64_t size = sum_bag(weight, bags, bag, samples, to);
  if (mode == kMeanBag && size > 1)
    for (int64_t k = 0; k < weight.width; ++k) to[k] /= static_cast<Acc>(size);
  return size;
}

// One bag's largest elements.
template <class Acc>
struct Largest {
  // As wide as the numbers, so that both are chosen by one vector of truth values.
  using Place = std::conditional_t<sizeof(Acc) == 4, int32_t, int64_t>;
  // Places are counted within so many members.
  static constexpr int64_t kMembers = int64_t{1} << 30;

  std::vector<Acc> top;
  std::vector<Place> place;  // -1: in none of these members

  explicit Largest(int64_t width)
      : top(static_cast<size_t>(width)), place(static_cast<size_t>(width)) {}

  // Finds them and the rows in which they stand; returns the number of the bag's rows.
  template <class T>
  int64_t find(const Rows<T>& weight, const Bags& bags, int64_t bag, int64_t* from) {
    std::fill(top.begin(), top.end(), Acc(0));
    std::fill_n(from, weight.width, int64_t{0});
    int64_t size = 0, begin = bags.start[static_cast<size_t>(bag)];
    for (const int64_t end = bags.start[static_cast<size_t>(bag) + 1]; begin < end;) {
      const int64_t members = std::min(end - begin, kMembers);
      size = find_among(weight, bags, begin, begin + members, size);
      for (int64_t k = 0; k < weight.width; ++k)
        if (const Place at = place[static_cast<size_t>(k)]; at >= 0)
          from[k] = bags.rows[static_cast<size_t>(begin + at)];
      begin += members;
    }
    return size;
  }

 private:
  template <class T>
  int64_t find_among(const Rows<T>& weight, const Bags& bags, int64_t begin, int64_t end,
                     int64_t size) {
    std::fill(place.begin(), place.end(), Place(-1));
    Acc* __restrict const most = top.data();
    Place* __restrict const found = place.data();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = bags.rows[static_cast<size_t>(i)];
      if (row == bags.padding) continue;
      expect_row(weight, bags, i);
      const auto at = static_cast<Place>(i - begin);
      if (size++ == 0)
        weight.each(row, [=](int64_t k, T v) { most[k] = static_cast<Acc>(v), found[k] = at; });
      else
        weight.each(row, [=](int64_t k, T v) {
          const Acc wide = static_cast<Acc>(v);
          const bool is_more = wide > most[k];
          most[k] = is_more ? wide : most[k];
          found[k] = is_more ? at : found[k];
        });
    }
    return size;
  }
};

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
    const Rows<T> table(weight), out(to.output);
    parallel_for(0, count, bag_grain(width), [&](int64_t first, int64_t last) {
      Largest<Acc> most(width);
      for (int64_t b = first; b < last; ++b) {
        const auto bag = static_cast<size_t>(b);
        Acc* row = most.top.data();
        if constexpr (std::is_same_v<T, Acc>)
          if (out.step == 1 && mode != kMaxBag) row = out[b];
        sizes[bag] = mode == kMaxBag ? most.find(table, bags, b, largest.data() + b * width)
                                     : add_rows<T>(table, bags, b, by, mode, row);
        if (row == most.top.data())
          out.each(b, [=](int64_t k, T& v) { v = static_cast<T>(row[k]); });
        std::fill(bag_of.begin() + bags.start[bag], bag_of.begin() + bags.start[bag + 1], b);
      }
    });
  });
  // As in PyTorch, sums do not tell their sizes.
  if (mode == kSumBag) std::fill(sizes.begin(), sizes.end(), 0);
  put(to.offset2bag, bag_of);
  put(to.bag_size, sizes);
  put(to.max_indices, mode == kMaxBag ? largest : sizes);
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

}  // namespace taeda::cpu
