// Inner loops of depthwise convolutions, which each instruction set fills a table of.
#pragma once

#include <cstdint>

namespace taeda::cpu::convolution_kernels {

// Taps of a row: out[i] reads row[i * step + offset] for a tap, with its weight.
template <class P>
struct RowTap {
  const P* row;
  P weight;
};

template <class P>
struct RowKernels {
  // out[i] = start + the sum over taps of tap.weight * tap.row[i * step], i in [0, count).
  void (*weigh_rows)(int64_t count, int64_t step, int64_t taps, const RowTap<P>* tap, P start,
                     P* out);
  // The sum over i in [0, count) of a[i] * b[i * step], in vectors and then lane by lane.
  P (*dot_row)(int64_t count, int64_t step, const P* a, const P* b);
  // out[c] = start[c] + the sum over taps of weights[t * stride + c] * rows[t][c]; a start of null
  // is zero, a row of null counts nothing.
  void (*weigh_channels)(int64_t count, int64_t taps, const P* const* rows, const P* weights,
                         int64_t stride, const P* start, P* out);
  // sum[c] += a[c] * b[c].
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
