// The table of attention's functions on panels, one per instruction set.
//
// A panel holds a number of rows of `lanes` elements, a lane per query; `lanes` is a whole number
// of vectors.
#pragma once

#include <cstdint>

namespace taeda::cpu {

template <class T>
struct AttentionRows {
  // One step of a softmax over keys that come in blocks. `scores` holds a row per key; `mask`, in
  // the same form, is added where it is not null. Afterwards they are exp(score - largest), and
  // `largest` and `sum` are those of all keys so far; `shrink` is what earlier weights are to be
  // multiplied by.
  void (*softmax_step)(int64_t keys, int lanes, T* scores, const T* mask, T* largest, T* sum,
                       T* shrink);
  // Scores become weights, exp(score - logsumexp), and their gradients those of scores:
  // weight * (gradient - delta) * scale.
  void (*backward_step)(int64_t keys, int lanes, T* scores, T* grads, const T* mask,
                        const T* logsumexp, const T* delta, T scale);
  // Multiplies every row by a factor per lane.
  void (*scale_lanes)(int64_t rows, int lanes, T* data, const T* factors);
  // The sum over rows of a * b for each lane.
  void (*dot_lanes)(int64_t rows, int lanes, const T* a, const T* b, T* sums);
};

// Those of this machine, for float and double.
template <class T>
const AttentionRows<T>& attention_rows();
template <>
const AttentionRows<float>& attention_rows<float>();
template <>
const AttentionRows<double>& attention_rows<double>();

}  // namespace taeda::cpu
