// Searches in sorted sequences and membership in a set.
#include <algorithm>
#include <vector>

#include "taeda/backends/cpu/order/ordering.h"
#include "taeda/backends/cpu/order_statistics_declarations.h"
#include "taeda/backends/cpu/pointwise/logical_walk.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

// The first position of a line whose element is not before the value; `is_right`: that is after it.
using PlaceFn = int64_t (*)(const char* line, const int64_t* sorter, int64_t n, const char* value,
                            bool is_right);
template <class T>
int64_t insertion_place(const char* line, const int64_t* sorter, int64_t n, const char* value,
                        bool is_right) {
  const T wanted = *reinterpret_cast<const T*>(value);
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const T here = reinterpret_cast<const T*>(line)[sorter ? sorter[middle] : middle];
    if (is_right ? here > wanted : here >= wanted)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void check_sorter_range(const Tensor& sorter) {
  if (!sorter.defined() || sorter.numel() == 0) return;
  const bool is_inside = read_scalar(sorter.amin()).to_int() >= 0 &&
                         read_scalar(sorter.amax()).to_int() < sorter.sizes().back();
  TAEDA_CHECK(is_inside, "torch.searchsorted(): sorter index out of range");
}

void search(PlaceFn place_of, const Tensor& sequence, const Tensor& sorter, const Tensor& values,
            bool is_right, Tensor& out) {
  const auto* lines = static_cast<const char*>(sequence.data());
  const auto* order = sorter.defined() ? static_cast<const int64_t*>(sorter.data()) : nullptr;
  const auto* value = static_cast<const char*>(values.data());
  const int64_t item = item_size(values.dtype());
  const bool is_int32 = out.dtype() == DType::Int32;
  const int64_t n = sequence.sizes().back();
  const int64_t per_line =
      sequence.dim() == 1 ? std::max<int64_t>(values.numel(), 1) : values.sizes().back();
  parallel_for(0, values.numel(), 256, [&](int64_t first, int64_t last) {
    walk_logical(
        out, first, last - first, [&](char* at, int64_t count, int64_t stride, int64_t done) {
          for (int64_t i = 0; i < count; ++i) {
            const int64_t k = first + done + i, line = k / per_line * n;
            const int64_t place = place_of(lines + line * item, order ? order + line : nullptr, n,
                                           value + k * item, is_right);
            if (is_int32)
              *reinterpret_cast<int32_t*>(at + i * stride) = static_cast<int32_t>(place);
            else
              *reinterpret_cast<int64_t*>(at + i * stride) = place;
          }
        });
  });
}

}  // namespace

void searchsorted_Tensor(const Tensor& sorted_sequence, const Tensor& self, bool, bool right,
                         std::optional<std::string_view> side, const Tensor& sorter, Tensor& out) {
  check_sorter_range(sorter);
  if (self.numel() == 0) return;
  const Tensor* const inputs[] = {&sorted_sequence, &self};
  const DType common = sorted_sequence.dtype() == self.dtype() ? self.dtype() : result_type(inputs);
  const Tensor sequence = sorted_sequence.to(common).contiguous(),
               values = self.to(common).contiguous();
  const Tensor order = sorter.defined() ? sorter.contiguous() : sorter;
  const bool is_right = side ? *side == "right" : right;
  visit_dtype(common, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same_v<T, Complex<float>> && !std::is_same_v<T, Complex<double>>)
      search(insertion_place<T>, sequence, order, values, is_right, out);
  });
}

void isin_Tensor_Tensor(const Tensor& elements, const Tensor& test_elements, bool, bool invert,
                        Tensor& out) {
  const Tensor* const inputs[] = {&elements, &test_elements};
  const DType common =
      elements.dtype() == test_elements.dtype() ? elements.dtype() : result_type(inputs);
  const Tensor x = ordering_values(elements.to(common)),
               set = ordering_values(test_elements.to(common));
  visit_ordering(common, [&](auto tag) {
    using T = decltype(tag);
    const auto* from = static_cast<const T*>(set.data());
    // NaN is in no set, and has no place in an order.
    std::vector<T> sorted;
    for (int64_t i = 0; i < set.numel(); ++i)
      if (from[i] == from[i]) sorted.push_back(from[i]);
    std::sort(sorted.begin(), sorted.end(), [](T a, T b) { return a < b; });
    const auto* values = static_cast<const T*>(x.data());
    parallel_for(0, x.numel(), 1024, [&](int64_t first, int64_t last) {
      walk_logical(out, first, last - first,
                   [&](char* at, int64_t count, int64_t stride, int64_t done) {
                     for (int64_t i = 0; i < count; ++i) {
                       const T value = values[first + done + i];
                       const bool is_found =
                           value == value && std::binary_search(sorted.begin(), sorted.end(), value,
                                                                [](T a, T b) { return a < b; });
                       *reinterpret_cast<bool*>(at + i * stride) = is_found != invert;
                     }
                   });
    });
  });
}

}  // namespace taeda::cpu
