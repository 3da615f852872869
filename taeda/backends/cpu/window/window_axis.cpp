// Lists the windows along a dimension.
#include "taeda/backends/cpu/window/window_axis.h"

#include <algorithm>

namespace taeda::cpu {

WindowAxis regular_axis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                        int64_t dilation, bool counts_padding) {
  WindowAxis axis;
  axis.step = dilation;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t start = o * stride - padding;
    const int64_t skipped = start < 0 ? (-start + dilation - 1) / dilation : 0;
    const int64_t first = start + skipped * dilation;
    const int64_t room = first < in ? (in - 1 - first) / dilation + 1 : 0;
    const int64_t taps = std::max<int64_t>(0, std::min(kernel - skipped, room));
    const int64_t whole = std::min(start + kernel, in + padding) - start;
    axis.windows.push_back({first, taps, counts_padding ? whole : taps});
  }
  return axis;
}

WindowAxis adaptive_axis(int64_t in, int64_t out) {
  WindowAxis axis;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t first = o * in / out, last = ((o + 1) * in + out - 1) / out;
    axis.windows.push_back({first, last - first, last - first});
  }
  return axis;
}

WindowAxis listed_axis(const std::vector<int64_t>& firsts, int64_t kernel) {
  WindowAxis axis;
  for (const int64_t first : firsts) axis.windows.push_back({first, kernel, kernel});
  return axis;
}

}  // namespace taeda::cpu
