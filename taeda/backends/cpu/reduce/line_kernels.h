// The table of kernels over lines that each instruction set fills: reductions, softmax and layer
// normalization of a row.
#pragma once

#include <cstdint>
#include <type_traits>

#include "taeda/backends/cpu/pointwise/tiles.h"
#include "taeda/base/complex.h"

namespace taeda::cpu {

// One traversal of a chunk (at most kernel::kReduceChunk elements per line). A pass after the first
// one reads a center per line, which comes from the first one's results.
struct ReducePass {
  // Lines of n contiguous elements, `pitch` elements apart, to a result per line; null where
  // ReduceOp::later_lines does it.
  void (*lines)(const void* p, int64_t pitch, int64_t count, int64_t n, const void* centers,
                void* results);
  // Rows of elements of many lines: kernel::fold_columns.
  void (*fold)(void* lanes, const void* rows, int64_t stride, int64_t first, int64_t count,
               int64_t width, const void* centers, const void* numbers);
  // The same for rows of bfloat16 numbers, with lanes of floats; may be null.
  void (*fold_bfloat16)(void* lanes, const void* rows, int64_t stride, int64_t first, int64_t count,
                        int64_t width, const void* centers, const void* numbers);
  // out = combine(left, right) for n lanes; out may be either.
  void (*combine)(const void* left, const void* right, void* out, int64_t n);
};

// A reduction of kernel/reduce_bodies.h over elements of one compute type, as its driver sees it.
// Arrays are per line.
struct ReduceOp {
  int item, state_item;  // bytes of an element, and of a state
  int num_passes;
  ReducePass passes[3];
  // Lines by all passes after the first in one traversal, to a list of results per pass; null where
  // passes are run one by one.
  void (*later_lines)(const void* p, int64_t pitch, int64_t count, int64_t n, const void* centers,
                      void* const* results);
  // Null where there is one pass, whose results are the states.
  void (*center)(const void* results, int64_t n, int64_t lines, void* centers);
  void (*state)(const void* const* results, const void* centers, int64_t n, int64_t first,
                int64_t lines, void* states);
  void (*combine)(const void* left, const void* right, void* out, int64_t n);
  // The number of its lane for each lane of `width` columns; null where no pass reads it.
  void (*number)(void* numbers, int64_t width);
};

enum class ReduceKind : uint8_t { Sum, Prod, Max, Min, ArgMax, ArgMin, Moments, LogSumExp };

// States of several parts.
template <class T>
struct PlaceState {
  T value;
  int64_t index;
};
struct MomentState {
  double count, mean, squares;
};
struct ComplexMomentState {
  MomentState re, im;
};
// sum(exp(x)) = sum * exp(largest); of complex numbers the largest real part.
template <class T>
struct ScaledState {
  T largest, sum;
};
template <class R>
struct ScaledState<Complex<R>> {
  R largest;
  Complex<R> sum;
};

// Functions of real lines. Outputs may be their inputs.
template <class T>
struct RowFns {
  T (*sum)(const T* p, int64_t n);
  T (*sum_squared_deviations)(const T* p, int64_t n, T mean);
  void (*softmax)(const T* in, T* out, int64_t n);
  void (*log_softmax)(const T* in, T* out, int64_t n);
  void (*softmax_backward)(const T* grad, const T* output, T* out, int64_t n);
  void (*log_softmax_backward)(const T* grad, const T* output, T* out, int64_t n);
  // (in - mean) * rstd * weight + bias; weight and bias may be null.
  void (*normalize)(const T* in, T* out, int64_t n, T mean, T rstd, const T* weight, const T* bias);
  // The gradient of a normalized row; weight may be null.
  void (*normalize_backward)(const T* grad, const T* in, T* out, int64_t n, T mean, T rstd,
                             const T* weight);
  // The same for a row that is scaled by the root of its mean square and keeps its mean.
  void (*scale_backward)(const T* grad, const T* in, T* out, int64_t n, T rstd, const T* weight);
  // weight_grad += grad * (in - mean) * rstd, bias_grad += grad; either may be null.
  void (*accumulate_affine)(const T* grad, const T* in, int64_t n, T mean, T rstd, T* weight_grad,
                            T* bias_grad);
};

// A block with its rows and columns turned: element (r, c) from from + c * pitch + r * item to
// to + r * to_pitch + c * item, in bytes.
using TurnFn = void (*)(const char* from, int64_t pitch, int64_t rows, int64_t cols, char* to,
                        int64_t to_pitch);

struct LineKernels {
  // By ReduceKind and real ComputeType; no passes where a type has no such reduction.
  ReduceOp reduce[8][4];
  ReduceOp truth[2];  // any, all; over bytes 0 and 1
  RowFns<float> float_rows;
  RowFns<double> double_rows;
  TurnFn turn_4, turn_8;  // by bytes of an element
};

// Those of this machine.
const LineKernels& line_kernels();
extern const ReduceOp complex_reductions[8][2];
inline const ReduceOp& reduce_op(ReduceKind kind, ComputeType type) {
  const int k = static_cast<int>(kind), t = static_cast<int>(type);
  return t < 4 ? line_kernels().reduce[k][t] : complex_reductions[k][t - 4];
}
template <class T>
const RowFns<T>& row_fns() {
  if constexpr (std::is_same_v<T, float>)
    return line_kernels().float_rows;
  else
    return line_kernels().double_rows;
}

}  // namespace taeda::cpu
