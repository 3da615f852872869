// The table of row functions behind the fused losses, one an instruction set.
#pragma once

#include <cstdint>

namespace taeda::cpu {

template <class T>
struct LossRows {
  // log(sum(exp(p - largest))) and the largest element; NaN for rows of infinities, as log_softmax
  // has it. Apart, because their sum loses the digits of the logarithm beside large elements.
  T (*log_sum_exp)(const T* p, int64_t n, T* largest);
  // out = scale * exp(p - log_sum)
  void (*scaled_softmax)(const T* p, T* out, int64_t n, T log_sum, T scale);
  // sum((a - b) ** 2)
  T (*squared_difference)(const T* a, const T* b, int64_t n);
};

// Those of this machine, for float and double.
template <class T>
const LossRows<T>& loss_rows();

}  // namespace taeda::cpu
