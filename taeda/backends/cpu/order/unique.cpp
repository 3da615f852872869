// Distinct elements and slices, counts of integers, repetitions and a fixed number of coordinates.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "taeda/backends/cpu/index/masks.h"
#include "taeda/backends/cpu/order/ordering.h"
#include "taeda/backends/cpu/unique_declarations.h"

namespace taeda::cpu {
namespace {

using Results = std::tuple<Tensor, Tensor, Tensor>;

int64_t* indices_of(Tensor& t) { return static_cast<int64_t*>(t.data()); }

void check_has_order(DType dtype) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_complex(dtype), "\"unique\" not implemented for '", dtype, "'");
}

// Runs of equal neighbours among `n` items in the order `at`: the first item of each run, the run
// of each item and its length.
struct Runs {
  std::vector<int64_t> first, counts;
  std::vector<int64_t> run_of;

  template <class Same>
  Runs(const std::vector<int64_t>& at, Same&& is_same) : run_of(at.size()) {
    for (size_t i = 0; i < at.size(); ++i) {
      if (i == 0 || !is_same(at[i - 1], at[i])) {
        first.push_back(at[i]);
        counts.push_back(0);
      }
      ++counts.back();
      run_of[at[i]] = static_cast<int64_t>(first.size()) - 1;
    }
  }
  int64_t size() const { return static_cast<int64_t>(first.size()); }
};

Tensor index_tensor(const std::vector<int64_t>& values, IntList sizes) {
  Tensor out = make_tensor(sizes, DType::Int64, DeviceType::CPU);
  if (!values.empty()) std::memcpy(out.data(), values.data(), values.size() * sizeof(int64_t));
  return out;
}
Tensor no_indices() { return make_tensor({0}, DType::Int64, DeviceType::CPU); }

std::vector<int64_t> positions(int64_t n) {
  std::vector<int64_t> at(n);
  std::iota(at.begin(), at.end(), 0);
  return at;
}

// NaN after all numbers, and equal to none.
template <class T>
bool is_before(T a, T b) {
  return a < b || (a == a && b != b);
}

Results unique_elements(const Tensor& self, bool is_sorted, bool has_inverse, bool has_counts) {
  check_has_order(self.dtype());
  const Tensor flat = ordering_values(self);
  std::vector<int64_t> at = positions(flat.numel());
  Tensor values;
  Tensor inverse = no_indices(), counts = no_indices();
  visit_ordering(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto* x = static_cast<const T*>(flat.data());
    if (is_sorted)
      std::stable_sort(at.begin(), at.end(),
                       [&](int64_t i, int64_t j) { return is_before(x[i], x[j]); });
    const Runs runs(at, [&](int64_t i, int64_t j) { return x[i] == x[j]; });
    const Tensor distinct = make_tensor({runs.size()}, flat.dtype(), self.device());
    auto* to = static_cast<T*>(distinct.data());
    for (int64_t k = 0; k < runs.size(); ++k) to[k] = x[runs.first[k]];
    values = distinct.to(self.dtype());
    if (has_inverse) inverse = index_tensor(runs.run_of, self.sizes());
    if (has_counts) counts = index_tensor(runs.counts, {runs.size()});
  });
  return {values, inverse, counts};
}

Results unique_slices(const Tensor& self, int64_t dim, bool is_sorted) {
  dim = wrap_dim(dim, self.dim());
  const int64_t n = self.size(dim);
  int64_t zeros = 0;
  for (const int64_t s : self.sizes()) zeros += s == 0;
  if (n == 0 || self.numel() == 0) {
    TAEDA_CHECK(n == 0 && zeros == 1,
                "There are 0 sized dimensions, and they aren't selected, so unique cannot be "
                "applied");
    return {make_tensor(self.sizes(), self.dtype(), self.device()), no_indices(), no_indices()};
  }
  check_has_order(self.dtype());
  // A row per slice.
  const Tensor rows = ordering_values(self.movedim(dim, 0));
  const int64_t width = rows.numel() / n;
  std::vector<int64_t> at = positions(n);
  Results out;
  visit_ordering(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto* x = static_cast<const T*>(rows.data());
    if (is_sorted)
      std::stable_sort(at.begin(), at.end(), [&](int64_t i, int64_t j) {
        for (int64_t k = 0; k < width; ++k) {
          const T a = x[i * width + k], b = x[j * width + k];
          if (a < b) return true;
          if (b < a) return false;
        }
        return false;
      });
    const Runs runs(at, [&](int64_t i, int64_t j) {
      for (int64_t k = 0; k < width; ++k)
        if (!(x[i * width + k] == x[j * width + k])) return false;
      return true;
    });
    const Tensor kept = index_tensor(runs.first, {runs.size()});
    out = {self.index_select(dim, kept), index_tensor(runs.run_of, {n}),
           index_tensor(runs.counts, {runs.size()})};
  });
  return out;
}

}  // namespace

Results _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  return unique_elements(self, true, return_inverse || return_counts, return_counts);
}
Results unique_dim(const Tensor& self, int64_t dim, bool, bool, bool) {
  return unique_slices(self, dim, true);
}
Results unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts,
                           std::optional<int64_t> dim) {
  if (dim) return unique_slices(self, *dim, false);
  return unique_elements(self, false, return_inverse, return_counts);
}
Results unique_dim_consecutive(const Tensor& self, int64_t dim, bool, bool) {
  return unique_slices(self, dim, false);
}

namespace {

template <class T>
Tensor counted_weights(const int64_t* bins, int64_t n, int64_t size, const Tensor& weights,
                       DType dtype) {
  const Tensor flat = weights.to(dtype).contiguous();
  const auto* w = static_cast<const T*>(flat.data());
  Tensor out = taeda::zeros({SymInt(size)}, dtype);
  auto* to = static_cast<T*>(out.data());
  for (int64_t i = 0; i < n; ++i) to[bins[i]] += w[i];
  return out;
}

}  // namespace

Tensor bincount(const Tensor& self, const Tensor& weights, SymInt minlength) {
  const int64_t least = minlength.expect_int();
  TAEDA_CHECK_NOT_IMPLEMENTED(is_integral(self.dtype(), false),
                              "\"bincount_cpu\" not implemented for '", self.dtype(), "'");
  TAEDA_CHECK(least >= 0, "minlength should be >= 0");
  if (self.dim() == 1 && self.numel() == 0) return taeda::zeros({SymInt(least)}, DType::Int64);
  const Tensor bins = self.to(DType::Int64).contiguous();
  const auto* at = static_cast<const int64_t*>(bins.data());
  const int64_t n = bins.numel();
  const auto ends = std::minmax_element(at, at + n);
  TAEDA_CHECK(self.dim() == 1 && (n == 0 || *ends.first >= 0),
              "bincount only supports 1-d non-negative integral inputs.");
  TAEDA_CHECK(!weights.defined() || (weights.dim() == 1 && weights.numel() == n),
              "weights should be 1-d and have the same length as input");
  const int64_t size = std::max(n == 0 ? 0 : *ends.second + 1, least);
  if (weights.defined()) {
    return weights.dtype() == DType::Float
               ? counted_weights<float>(at, n, size, weights, DType::Float)
               : counted_weights<double>(at, n, size, weights, DType::Double);
  }
  Tensor out = taeda::zeros({SymInt(size)}, DType::Int64);
  for (int64_t i = 0; i < n; ++i) ++indices_of(out)[at[i]];
  return out;
}

Tensor repeat_interleave_Tensor(const Tensor& repeats, std::optional<SymInt> output_size) {
  TAEDA_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  TAEDA_CHECK_NOT_IMPLEMENTED(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
                              "\"repeat_interleave_cpu\" not implemented for '", repeats.dtype(),
                              "'");
  const Tensor times = repeats.to(DType::Int64).contiguous();
  const auto* count = static_cast<const int64_t*>(times.data());
  int64_t total = 0;
  for (int64_t i = 0; i < times.numel(); ++i) {
    TAEDA_CHECK(count[i] >= 0, "repeats can not be negative");
    total += count[i];
  }
  TAEDA_CHECK(!output_size || output_size->expect_int() == total,
              "allocated size does not match required size");
  Tensor out = make_tensor({total}, DType::Int64, repeats.device());
  int64_t* to = indices_of(out);
  for (int64_t i = 0; i < times.numel(); ++i) to = std::fill_n(to, count[i], i);
  return out.to(repeats.dtype());
}

void nonzero_static(const Tensor& self, SymInt size, int64_t fill_value, Tensor& out) {
  const TrueElements elements(self.ne(Scalar(0)));
  const int64_t rows = size.expect_int(), ndim = self.dim();
  if (rows == 0 || ndim == 0) return;
  std::vector<int64_t> found(std::max<int64_t>(elements.count(), 1) * ndim);
  elements.coordinates(found.data(), ndim, 1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t d = 0; d < ndim; ++d) {
      const bool is_found = row < elements.count();
      indices_of(out)[row * out.stride(0) + d * out.stride(1)] =
          is_found ? found[row * ndim + d] : fill_value;
    }
}

}  // namespace taeda::cpu
