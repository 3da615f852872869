// Row functions of the fused losses in one instruction set, in the order of Note [Reduction tree].
#include "taeda/backends/cpu/loss/loss_rows.h"

#include "taeda/kernel/reduce_tree.h"
#include "taeda/kernel/vec.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

template <class T>
using Raw = typename Vec<T>::Raw;

template <class T>
struct Elements {
  const T* p;
  T scalar(int64_t i) const { return p[i]; }
  Raw<T> vector(int64_t i) const { return Vec<T>::load(p + i).raw; }
};
template <class T>
struct Exponentials {
  const T* p;
  T maximum;
  T scalar(int64_t i) const { return td_exp(p[i] - maximum); }
  Raw<T> vector(int64_t i) const { return td_exp(Vec<T>::load(p + i).raw - maximum); }
};
template <class T>
struct SquaredDifferences {
  const T *a, *b;
  T scalar(int64_t i) const { return (a[i] - b[i]) * (a[i] - b[i]); }
  Raw<T> vector(int64_t i) const {
    const Raw<T> d = Vec<T>::load(a + i).raw - Vec<T>::load(b + i).raw;
    return d * d;
  }
};

template <class T>
RowNorm<T> norm(const T* p, int64_t n) {
  const T maximum = td_reduce_run<td_combine_max, Raw<T>, T>(Elements<T>{p}, n, -__builtin_inf());
  return {maximum,
          td_log(td_reduce_run<td_combine_sum, Raw<T>, T>(Exponentials<T>{p, maximum}, n, T(0)))};
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
  return td_reduce_run<td_combine_sum, Raw<T>, T>(SquaredDifferences<T>{a, b}, n, T(0));
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
