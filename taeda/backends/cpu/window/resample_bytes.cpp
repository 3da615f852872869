// Weighted sums of bytes. Weights are whole multiples of a power of two, as fine as sixteen bits
// hold the largest one of an axis.
#include "taeda/backends/cpu/window/resample_bytes.h"

#include <algorithm>

#include "taeda/backends/cpu/window/resample_axis.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu {
namespace {

struct ByteAxis {
  std::vector<ResampleAxis<double>::Taps> taps;
  std::vector<int32_t> weights;  // in units of 2^-bits
  int bits = 0;
};

ByteAxis byte_axis(const ResampleAxis<double>& axis) {
  const double largest = *std::max_element(axis.weights.begin(), axis.weights.end());
  ByteAxis bytes{axis.taps, {}, 0};
  const auto units = [&](double weight, int bits) {
    return static_cast<int32_t>(weight * (1 << bits) + (weight < 0 ? -0.5 : 0.5));
  };
  while (bytes.bits < 22 && units(largest, bytes.bits + 1) < 1 << 15) ++bytes.bits;
  for (const double weight : axis.weights) bytes.weights.push_back(units(weight, bytes.bits));
  return bytes;
}

// Each line has `length` elements of `inner` bytes, and gets one per entry of the axis.
void resample_lines(const ByteAxis& axis, const uint8_t* from, int64_t lines, int64_t length,
                    int64_t inner, uint8_t* to) {
  const auto made = static_cast<int64_t>(axis.taps.size());
  parallel_for(0, lines * made, row_grain(2 * inner), [&](int64_t first, int64_t last) {
    std::vector<int32_t> sum(inner);
    for (int64_t i = first; i < last; ++i) {
      const auto& taps = axis.taps[i % made];
      const uint8_t* row = from + (i / made * length + taps.first) * inner;
      std::fill(sum.begin(), sum.end(), 1 << axis.bits >> 1);
      for (int64_t k = 0; k < taps.count; ++k, row += inner) {
        const int32_t weight = axis.weights[taps.weights + k];
        for (int64_t n = 0; n < inner; ++n) sum[n] += weight * row[n];
      }
      for (int64_t n = 0; n < inner; ++n)
        to[i * inner + n] = static_cast<uint8_t>(std::clamp(sum[n] >> axis.bits, 0, 255));
    }
  });
}

}  // namespace

void resample_bytes(Filter filter, const uint8_t* from, const Volume& in, bool align_corners,
                    const std::vector<std::optional<double>>& scales, uint8_t* to,
                    const Volume& out) {
  const auto axis = [&](size_t d) {
    return byte_axis(
        resample_axis<double>(filter, in.size[d], out.size[d], align_corners, scales[d - 1]));
  };
  // An axis that keeps its size is copied, whatever its scale.
  std::vector<uint8_t> between;
  if (in.size[2] != out.size[2]) {
    between.resize(in.planes * in.size[1] * out.width());
    resample_lines(axis(2), from, in.planes * in.size[1], in.size[2], in.inner, between.data());
    from = between.data();
  }
  if (in.size[1] != out.size[1])
    resample_lines(axis(1), from, in.planes, in.size[1], out.width(), to);
  else
    std::copy_n(from, out.numel(), to);
}

}  // namespace taeda::cpu
