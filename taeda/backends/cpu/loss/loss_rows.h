// The table of row functions behind the fused losses, one per instruction set.
#pragma once

#include <cstdint>

namespace taeda::cpu {

template <class T>
struct RowNorm {
  T maximum, log_sum;
};

template <class T>
struct LossRows {
  // The maximum of p and log(sum(exp(p - maximum))): apart, because their sum would round the loss.
  // NaN for rows of infinities, as log_softmax has it.
  RowNorm<T> (*norm)(const T* p, int64_t n);
  // out = scale * exp(p - maximum - log_sum)
  void (*scaled_softmax)(const T* p, T* out, int64_t n, RowNorm<T> norm, T scale);
  // sum((a - b) ** 2)
  T (*squared_difference)(const T* a, const T* b, int64_t n);
};

// Those of this machine, for float and double.
template <class T>
const LossRows<T>& loss_rows();

}  // namespace taeda::cpu
