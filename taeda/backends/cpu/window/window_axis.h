// The windows along one dimension: which elements each result sees.
#pragma once

#include <cstdint>
#include <vector>

namespace taeda::cpu {

struct WindowAxis {
  struct Window {
    int64_t first, taps;  // the first element inside the input, how many there are
    int64_t counted;      // what a mean divides by: elements, and padding where it counts
  };
  std::vector<Window> windows;  // one per result
  int64_t step = 1;             // from tap to tap
};

// Windows of one size at even distances.
WindowAxis regular_axis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                        int64_t dilation, bool counts_padding);
// Windows that cover the input evenly.
WindowAxis adaptive_axis(int64_t in, int64_t out);
// Windows of one size whose first elements are given.
WindowAxis listed_axis(const std::vector<int64_t>& firsts, int64_t kernel);

}  // namespace taeda::cpu
