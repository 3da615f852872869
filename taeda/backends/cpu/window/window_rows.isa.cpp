// Row functions of windows in one instruction set.
#include "taeda/backends/cpu/window/window_rows.h"

#include "taeda/kernel/vec_real.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

template <class T>
void greatest(T* best, Place<T>* at, const T* const* rows, const Place<T>* places, int64_t count,
              int64_t n) {
  using V = Vec<T>;
  using Places = typename V::MaskType::Raw;
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) {
    V b = V::load(rows[0] + i);
    Places found = Places{} + places[0];
    for (int64_t k = 1; k < count; ++k) {
      const V x = V::load(rows[k] + i);
      const auto is_taken = (x > b) | (x != x);
      b = where(is_taken, x, b);
      found = is_taken.raw ? Places{} + places[k] : found;
    }
    b.store(best + i);
    std::memcpy(at + i, &found, sizeof found);
  }
  for (; i < n; ++i) {
    T b = rows[0][i];
    Place<T> found = places[0];
    for (int64_t k = 1; k < count; ++k) {
      const T x = rows[k][i];
      const bool is_taken = x > b || x != x;
      b = is_taken ? x : b;
      found = is_taken ? places[k] : found;
    }
    best[i] = b;
    at[i] = found;
  }
}

template <class T>
void mean(T* out, const T* const* rows, int64_t count, T divisor, int64_t n) {
  using V = Vec<T>;
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) {
    V sum(0);
    for (int64_t k = 0; k < count; ++k) sum = sum + V::load(rows[k] + i);
    if (divisor != T(1)) sum = divisor == T(0) ? V(0) : sum / V(divisor);
    sum.store(out + i);
  }
  for (; i < n; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += rows[k][i];
    out[i] = divisor == T(0) ? T(0) : sum / divisor;
  }
}

template <class T>
void add(T* sum, const T* p, int64_t n) {
  using V = Vec<T>;
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) (V::load(sum + i) + V::load(p + i)).store(sum + i);
  for (; i < n; ++i) sum[i] += p[i];
}

template <class T>
void add_scaled(T* sum, const T* p, T factor, int64_t n) {
  using V = Vec<T>;
  const V f(factor);
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) (V::load(sum + i) + f * V::load(p + i)).store(sum + i);
  for (; i < n; ++i) sum[i] += factor * p[i];
}

template <class T>
void scale(T* out, const T* p, T factor, int64_t n) {
  using V = Vec<T>;
  const V f(factor);
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) (f * V::load(p + i)).store(out + i);
  for (; i < n; ++i) out[i] = factor * p[i];
}

template <class T>
void near_sums(T* out, const T* p, const NearSums<T>& sums) {
  using V = Vec<T>;
  using Places = typename V::MaskType::Raw;
  const T* weights = sums.weights;
  for (int64_t g = 0; g < sums.groups; ++g) {
    Places lanes;
    std::memcpy(&lanes, sums.lanes + g * V::kWidth, sizeof lanes);
    const T* const from = p + sums.starts[g];
    V total(0);
    for (int64_t k = 0; k < sums.count; ++k, weights += V::kWidth)
      total =
          total + V::load(weights) * V::from_raw(__builtin_shuffle(V::load(from + k).raw, lanes));
    total.store(out + g * V::kWidth);
  }
}

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
#define TAEDA_WINDOW_ROWS(type, name)                                             \
  extern const WindowRows<type> TAEDA_JOIN(name##_window_rows_, TAEDA_ISA);       \
  constinit const WindowRows<type> TAEDA_JOIN(name##_window_rows_, TAEDA_ISA) = { \
      Vec<type>::kWidth, &greatest<type>, &mean<type>,     &add<type>,            \
      &add_scaled<type>, &scale<type>,    &near_sums<type>};
TAEDA_WINDOW_ROWS(float, float)
TAEDA_WINDOW_ROWS(double, double)
TAEDA_WINDOW_ROWS(int64_t, int64)

}  // namespace taeda::cpu
