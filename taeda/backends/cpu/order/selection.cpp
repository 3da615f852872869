// Medians, k-th elements and modes of lines.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "taeda/backends/cpu/order/ordering.h"
#include "taeda/backends/cpu/order_statistics_declarations.h"
#include "taeda/backends/cpu/reduce/lines.h"

namespace taeda::cpu {
namespace {

template <class V>
bool is_nan(V x) {
  return x != x;
}

// choose(line) returns the position of the element that stands for the line.
template <class Choose>
void select_lines(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices,
                  Choose&& choose) {
  if (self.numel() == 0) return;
  dim = wrap_dim(dim, self.dim());
  const bool is_dropped = !keepdim && self.dim() > 0;
  const Tensor kept_values = is_dropped ? values.unsqueeze(dim) : values,
               kept_indices = is_dropped ? indices.unsqueeze(dim) : indices;
  const Tensor* const tensors[] = {&self, &kept_values, &kept_indices};
  const LineSpace space(tensors, dim);
  const int64_t n = space.length[0];
  const ComputeType type = compute_type(self.dtype());
  const LoadFn load = load_fn(self.dtype(), type);
  const StoreFn store = store_fn(type, self.dtype());
  visit_ordering(self.dtype(), [&](auto tag) {
    for_panels(space, 1, 16 * n, [&](auto&& panels) {
      std::vector<decltype(tag)> line(n);
      panels([&](char* const* at, int64_t) {
        load(at[0], Block{1, n, 0, space.along[0]}, reinterpret_cast<char*>(line.data()));
        const int64_t chosen = choose(line);
        store(reinterpret_cast<const char*>(&line[chosen]), Block{1, 1, 0, 0}, at[1]);
        *reinterpret_cast<int64_t*>(at[2]) = chosen;
      });
    });
  });
}

// Of equal elements the first; the first NaN unless NaN is left out.
template <class Line>
int64_t median_position(const Line& line, bool ignore_nan) {
  const auto n = static_cast<int64_t>(line.size());
  const auto is_missing = [&](int64_t i) { return is_nan(line[i]); };
  int64_t missing = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!is_missing(i)) continue;
    if (!ignore_nan) return i;
    ++missing;
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  const auto nth = order.begin() + std::max<int64_t>(n - missing - 1, 0) / 2;
  std::nth_element(order.begin(), nth, order.end(), [&](int64_t i, int64_t j) {
    if (is_missing(i) || is_missing(j))
      return is_missing(i) == is_missing(j) ? i < j : is_missing(j);
    return line[i] != line[j] ? line[i] < line[j] : i < j;
  });
  return *nth;
}

void median_of_lines(const Tensor& self, int64_t dim, bool keepdim, bool ignore_nan, Tensor& values,
                     Tensor& indices) {
  select_lines(self, dim, keepdim, values, indices,
               [=](const auto& line) { return median_position(line, ignore_nan); });
}

void median_of_all(const Tensor& self, bool ignore_nan, Tensor& out) {
  if (self.numel() == 0) {
    out.fill_(Scalar(is_floating(self.dtype()) ? std::numeric_limits<double>::quiet_NaN() : 0.0));
    if (!is_floating(self.dtype()))
      out.copy_(taeda::full({}, Scalar(std::numeric_limits<double>::quiet_NaN()), DType::Float));
    return;
  }
  Tensor index = taeda::empty({}, DType::Int64);
  const Tensor line = self.reshape({SymInt(-1)});
  median_of_lines(line, 0, false, ignore_nan, out, index);
}

// Quickselect with the median of three as pivot, which decides where equal elements end up.
template <class Line>
int64_t kth_position(const Line& line, int64_t k) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  const auto is_after = [&](int64_t i, int64_t j) {
    const auto a = line[order[i]], b = line[order[j]];
    return (is_nan(a) && !is_nan(b)) || a > b;
  };
  const auto exchange = [&](int64_t i, int64_t j) { std::swap(order[i], order[j]); };
  int64_t low = 0, high = static_cast<int64_t>(line.size()) - 1;
  while (high > low) {
    if (high == low + 1) {
      if (is_after(low, high)) exchange(low, high);
      break;
    }
    exchange(low + (high - low) / 2, low + 1);
    if (is_after(low + 1, high)) exchange(low + 1, high);
    if (is_after(low, high)) exchange(low, high);
    if (is_after(low + 1, low)) exchange(low + 1, low);
    int64_t i = low + 1, j = high;
    while (true) {
      do ++i;
      while (is_after(low, i));
      do --j;
      while (is_after(j, low));
      if (j < i) break;
      exchange(i, j);
    }
    exchange(low, j);
    const int64_t pivot = j;
    if (pivot <= k) low = i;
    if (pivot >= k) high = pivot - 1;
  }
  return order[k];
}

template <class Line>
int64_t mode_position(const Line& line) {
  struct Entry {
    typename Line::value_type value;
    int64_t position;
  };
  std::vector<Entry> entries(line.size());
  for (size_t i = 0; i < line.size(); ++i) entries[i] = {line[i], static_cast<int64_t>(i)};
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.value < b.value; });
  int64_t best = 0, most = 0, count = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    ++count;
    if (i + 1 < entries.size() && entries[i].value == entries[i + 1].value) continue;
    if (count > most) {
      most = count;
      best = entries[i].position;
    }
    count = 0;
  }
  return best;
}

}  // namespace

void median(const Tensor& self, Tensor& out) { median_of_all(self, false, out); }
void nanmedian(const Tensor& self, Tensor& out) { median_of_all(self, true, out); }
void median_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  median_of_lines(self, dim, keepdim, false, values, indices);
}
void nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  median_of_lines(self, dim, keepdim, true, values, indices);
}

void kthvalue(const Tensor& self, SymInt k, int64_t dim, bool keepdim, Tensor& values,
              Tensor& indices) {
  const int64_t rank = k.expect_int() - 1;
  select_lines(self, dim, keepdim, values, indices,
               [=](const auto& line) { return kth_position(line, rank); });
}

void mode(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  select_lines(self, dim, keepdim, values, indices,
               [](const auto& line) { return mode_position(line); });
}

}  // namespace taeda::cpu
