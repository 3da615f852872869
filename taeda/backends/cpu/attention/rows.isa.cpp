// Attention's functions on panels in one instruction set: a vector takes some lanes and walks down
// the rows, so that sums follow the order of the keys.
#include "taeda/backends/cpu/attention/rows.h"

#include <limits>

#include "taeda/kernel/vec.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

template <class V>
TD_FN V larger(V a, V b) {
  return where(a > b, a, b);
}

template <class V>
TD_FN V exponential(V x) {
  return V::from_raw(td_exp(x.raw));
}

template <class T>
void softmax_step(int64_t keys, int lanes, T* scores, const T* mask, T* largest, T* sum,
                  T* shrink) {
  using V = Vec<T>;
  const V unseen(-std::numeric_limits<T>::infinity());
  for (int j = 0; j < lanes; j += V::kWidth) {
    T* const column = scores + j;
    if (mask)
      for (int64_t i = 0; i < keys; ++i)
        (V::load(column + i * lanes) + V::load(mask + i * lanes + j)).store(column + i * lanes);
    const V before = V::load(largest + j);
    V most[4] = {before, unseen, unseen, unseen};
    int64_t i = 0;
    for (; i + 4 <= keys; i += 4)
      for (int u = 0; u < 4; ++u) most[u] = larger(V::load(column + (i + u) * lanes), most[u]);
    for (; i < keys; ++i) most[0] = larger(V::load(column + i * lanes), most[0]);
    const V now = larger(larger(most[0], most[1]), larger(most[2], most[3]));
    // Infinities have no difference: a query that sees no key yet is compared with zero.
    const V center = where(now == unseen, V(0), now);
    V total[2] = {V(0), V(0)};
    for (i = 0; i + 2 <= keys; i += 2)
      for (int u = 0; u < 2; ++u) {
        const V weight = exponential(V::load(column + (i + u) * lanes) - center);
        weight.store(column + (i + u) * lanes);
        total[u] = total[u] + weight;
      }
    if (i < keys) {
      const V weight = exponential(V::load(column + i * lanes) - center);
      weight.store(column + i * lanes);
      total[0] = total[0] + weight;
    }
    const V factor = exponential(before - center);
    (V::load(sum + j) * factor + (total[0] + total[1])).store(sum + j);
    factor.store(shrink + j);
    now.store(largest + j);
  }
}

template <class T>
void backward_step(int64_t keys, int lanes, T* scores, T* grads, const T* mask, const T* logsumexp,
                   const T* delta, T scale) {
  using V = Vec<T>;
  for (int j = 0; j < lanes; j += V::kWidth) {
    const V sums = V::load(logsumexp + j), share = V::load(delta + j), factor(scale);
    for (int64_t i = 0; i < keys; ++i) {
      const int64_t at = i * lanes + j;
      V score = V::load(scores + at);
      if (mask) score = score + V::load(mask + at);
      const V weight = exponential(score - sums);
      weight.store(scores + at);
      (weight * (V::load(grads + at) - share) * factor).store(grads + at);
    }
  }
}

template <class T>
void scale_lanes(int64_t rows, int lanes, T* data, const T* factors) {
  using V = Vec<T>;
  for (int j = 0; j < lanes; j += V::kWidth) {
    const V factor = V::load(factors + j);
    for (int64_t i = 0; i < rows; ++i)
      (V::load(data + i * lanes + j) * factor).store(data + i * lanes + j);
  }
}

template <class T>
void dot_lanes(int64_t rows, int lanes, const T* a, const T* b, T* sums) {
  using V = Vec<T>;
  for (int j = 0; j < lanes; j += V::kWidth) {
    V total(0);
    for (int64_t i = 0; i < rows; ++i)
      total = total + V::load(a + i * lanes + j) * V::load(b + i * lanes + j);
    total.store(sums + j);
  }
}

template <class T>
constexpr AttentionRows<T> kRows = {&softmax_step<T>, &backward_step<T>, &scale_lanes<T>,
                                    &dot_lanes<T>};

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
extern const AttentionRows<float> TAEDA_JOIN(float_attention_rows_, TAEDA_ISA);
constinit const AttentionRows<float> TAEDA_JOIN(float_attention_rows_, TAEDA_ISA) = kRows<float>;
extern const AttentionRows<double> TAEDA_JOIN(double_attention_rows_, TAEDA_ISA);
constinit const AttentionRows<double> TAEDA_JOIN(double_attention_rows_, TAEDA_ISA) = kRows<double>;

}  // namespace taeda::cpu
