// The table of kernels over contiguous lines that each instruction set fills: reductions of a
// chunk, softmax and layer normalization of a row.
#pragma once

#include <cstdint>
#include <type_traits>

#include "taeda/base/complex.h"

namespace taeda::cpu {

enum class ReduceOp : uint8_t { Sum, Prod, Max, Min };

template <class T>
struct ReduceFns {
  // At most kernel::kReduceChunk elements, in the order of Note [Reduction tree].
  T (*chunk)(const T* p, int64_t n);
  // accumulators[j] = op(accumulators[j], rows[i][j]) for each row in turn; `stride` in elements.
  void (*rows)(T* accumulators, const T* rows, int64_t stride, int64_t count, int64_t width);
};

// Functions of real lines. Outputs may be their inputs.
template <class T>
struct RowFns {
  // Index of the first element that equals the result of Max or Min over the chunk.
  int64_t (*find)(const T* p, int64_t n, T value);
  T (*sum_deviations)(const T* p, int64_t n, T mean);
  T (*sum_squared_deviations)(const T* p, int64_t n, T mean);
  T (*sum_exp)(const T* p, int64_t n, T maximum);
  void (*softmax)(const T* in, T* out, int64_t n);
  void (*log_softmax)(const T* in, T* out, int64_t n);
  void (*softmax_backward)(const T* grad, const T* output, T* out, int64_t n);
  void (*log_softmax_backward)(const T* grad, const T* output, T* out, int64_t n);
  // (in - mean) * rstd * weight + bias; weight and bias may be null.
  void (*normalize)(const T* in, T* out, int64_t n, T mean, T rstd, const T* weight, const T* bias);
  // The gradient of a normalized row; weight may be null.
  void (*normalize_backward)(const T* grad, const T* in, T* out, int64_t n, T mean, T rstd,
                             const T* weight);
  // weight_grad += grad * (in - mean) * rstd, bias_grad += grad; either may be null.
  void (*accumulate_affine)(const T* grad, const T* in, int64_t n, T mean, T rstd, T* weight_grad,
                            T* bias_grad);
};

struct LineKernels {
  ReduceFns<float> float_reduce[4];
  ReduceFns<double> double_reduce[4];
  ReduceFns<int64_t> int_reduce[4];
  ReduceFns<uint64_t> uint_reduce[4];
  ReduceFns<Complex<float>> complex_float_reduce[2];
  ReduceFns<Complex<double>> complex_double_reduce[2];
  ReduceFns<uint8_t> truth_reduce[2];  // any, all; over bytes 0 and 1
  RowFns<float> float_rows;
  RowFns<double> double_rows;
  int64_t (*find_int)(const int64_t* p, int64_t n, int64_t value);
  int64_t (*find_uint)(const uint64_t* p, int64_t n, uint64_t value);
};

// Those of this machine.
const LineKernels& line_kernels();
template <class T>
const RowFns<T>& row_fns() {
  if constexpr (std::is_same_v<T, float>)
    return line_kernels().float_rows;
  else
    return line_kernels().double_rows;
}

}  // namespace taeda::cpu
