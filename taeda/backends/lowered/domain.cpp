// Arranging iteration spaces.
#include "taeda/backends/lowered/domain.h"

#include <algorithm>
#include <numeric>

namespace taeda::lowered {

IntVec broadcast_strides(const Tensor& t, IntList sizes) {
  IntVec strides(sizes.size(), 0);
  const size_t missing = sizes.size() - t.sizes().size();
  for (size_t d = 0; d < t.sizes().size(); ++d)
    if (t.sizes()[d] != 1) strides[missing + d] = t.strides()[d];
  return strides;
}

void Domain::merge() {
  size_t kept = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    const bool joins =
        kept > 0 && std::all_of(strides.begin(), strides.end(),
                                [&](const IntVec& s) { return s[kept - 1] == s[d] * sizes[d]; });
    if (joins) {
      sizes[kept - 1] *= sizes[d];
      for (IntVec& s : strides) s[kept - 1] = s[d];
      continue;
    }
    sizes[kept] = sizes[d];
    for (IntVec& s : strides) s[kept] = s[d];
    ++kept;
  }
  sizes.resize(kept);
  for (IntVec& s : strides) s.resize(kept);
}

void Domain::arrange() {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[0][a] > strides[0][b]; });
  const auto reordered = [&](const IntVec& from) {
    IntVec to;
    for (size_t d : order) to.push_back(from[d]);
    return to;
  };
  sizes = reordered(sizes);
  for (IntVec& s : strides) s = reordered(s);
  merge();
}

}  // namespace taeda::lowered
