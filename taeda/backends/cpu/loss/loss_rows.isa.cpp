// Row functions of the fused losses in one instruction set, in the order of Note [Reduction tree].
#include "taeda/backends/cpu/loss/loss_rows.h"

#include "taeda/kernel/reduce.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

template <class T>
struct Exponentials {
  const T* p;
  T largest;
  template <class V>
  V at(int64_t i) const {
    return LogSumExpBody::term(V::load(p + i), V(largest));
  }
};
template <class T>
struct SquaredDifferences {
  const T *a, *b;
  template <class V>
  V at(int64_t i) const {
    const V d = V::load(a + i) - V::load(b + i);
    return d * d;
  }
};

template <class T>
RowNorm<T> norm(const T* p, int64_t n) {
  const T largest = reduce_line<ExtremeBody<true>, T>(Elements<T>{p}, n);
  return {largest, td_log(reduce_line<SumBody, T>(Exponentials<T>{p, largest}, n))};
}

template <class T>
void scaled_softmax(const T* p, T* out, int64_t n, RowNorm<T> norm, T scale) {
  constexpr int kWidth = Vec<T>::kWidth;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth)
    Vec<T>::from_raw(td_exp(Vec<T>::load(p + i).raw - norm.maximum - norm.log_sum) * scale)
        .store(out + i);
  for (; i < n; ++i) out[i] = td_exp(p[i] - norm.maximum - norm.log_sum) * scale;
}

template <class T>
T squared_difference(const T* a, const T* b, int64_t n) {
  return reduce_line<SumBody, T>(SquaredDifferences<T>{a, b}, n);
}

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
extern const LossRows<float> TAEDA_JOIN(float_loss_rows_, TAEDA_ISA);
constinit const LossRows<float> TAEDA_JOIN(float_loss_rows_, TAEDA_ISA) = {
    &norm<float>, &scaled_softmax<float>, &squared_difference<float>};
extern const LossRows<double> TAEDA_JOIN(double_loss_rows_, TAEDA_ISA);
constinit const LossRows<double> TAEDA_JOIN(double_loss_rows_, TAEDA_ISA) = {
    &norm<double>, &scaled_softmax<double>, &squared_difference<double>};

}  // namespace taeda::cpu
