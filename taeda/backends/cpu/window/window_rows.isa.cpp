// Row functions of windows in one instruction set.
#include "taeda/backends/cpu/window/window_rows.h"

#include "taeda/kernel/vec_real.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

template <class T>
void take_greater(T* best, Place<T>* at, const T* p, Place<T> place, int64_t n) {
  using V = Vec<T>;
  using Places = typename V::MaskType::Raw;
  const Places here = Places{} + place;
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) {
    const V x = V::load(p + i), b = V::load(best + i);
    const auto is_taken = (x > b) | (x != x);
    where(is_taken, x, b).store(best + i);
    Places was;
    std::memcpy(&was, at + i, sizeof was);
    was = is_taken.raw ? here : was;
    std::memcpy(at + i, &was, sizeof was);
  }
  for (; i < n; ++i) {
    const bool is_taken = p[i] > best[i] || p[i] != p[i];
    best[i] = is_taken ? p[i] : best[i];
    at[i] = is_taken ? place : at[i];
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

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
#define TAEDA_WINDOW_ROWS(type, name)                                             \
  extern const WindowRows<type> TAEDA_JOIN(name##_window_rows_, TAEDA_ISA);       \
  constinit const WindowRows<type> TAEDA_JOIN(name##_window_rows_, TAEDA_ISA) = { \
      &take_greater<type>, &add<type>, &add_scaled<type>, &scale<type>};
TAEDA_WINDOW_ROWS(float, float)
TAEDA_WINDOW_ROWS(double, double)
TAEDA_WINDOW_ROWS(int64_t, int64)

}  // namespace taeda::cpu
