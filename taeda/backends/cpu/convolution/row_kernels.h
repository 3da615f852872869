// Inner loops of depthwise convolutions, which each instruction set fills a table of.
#pragma once

#include <cstdint>

namespace taeda::cpu::convolution_kernels {

// A tap of rows: element i reads row[i * step].
template <class P>
struct RowTap {
  const P* row;
  P weight;
};

// Functions of rows handle whole vectors: they read and write up to this many elements beyond the
// count, times the step where they read.
constexpr int64_t kRowSlack = 32;

template <class P>
struct RowKernels {
  // out[i] = start + the sum over taps of tap.weight * tap.row[i * step], i in [0, count); step is
  // 1 or 2.
  void (*weigh_rows)(int64_t count, int64_t step, int64_t taps, const RowTap<P>* tap, P start,
                     P* out);
  // sums[t] += the sum over rows r and i in [0, count) of a[r * a_pitch + i] * tap[t].row[r * pitch
  // + i * step]; step is 1 or 2.
  void (*dot_rows)(int64_t count, int64_t rows, int64_t step, int64_t taps, const P* a,
                   int64_t a_pitch, const RowTap<P>* tap, int64_t pitch, double* sums);
  // out[c] = start[c] + the sum over taps of weights[t * stride + c] * rows[t][c]; a start of null
  // is zero, a row of null counts nothing. No slack.
  void (*weigh_channels)(int64_t count, int64_t taps, const P* const* rows, const P* weights,
                         int64_t stride, const P* start, P* out);
  // sum[c] += a[c] * b[c]. No slack.
  void (*add_products)(int64_t count, const P* a, const P* b, P* sum);
};

struct RowKernelSet {
  RowKernels<float> f32;
  RowKernels<double> f64;

  template <class P>
  const RowKernels<P>& get() const {
    if constexpr (sizeof(P) == 4)
      return f32;
    else
      return f64;
  }
};

// The set for the best instruction set of this processor.
const RowKernelSet& row_kernels();

}  // namespace taeda::cpu::convolution_kernels
