// Orthogonal polynomials, element by element, by their recurrences of three terms; those of high
// degree by formulas.
#include <cmath>
#include <limits>

#include "taeda/backends/cpu/pointwise/element_walk.h"
#include "taeda/backends/cpu/pointwise/high_degrees.h"
#include "taeda/backends/cpu/polynomials_declarations.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

// The last degree for which Chebyshev polynomials between -1 and 1 come from the recurrence.
constexpr int64_t kLastDegreeByRecurrence = 8;

// The last degree for which Legendre's polynomials, and Chebyshev's beyond 1, come from it.
// Formulas are exact to the type's bits further on, and recurrences would take a step per degree.
template <class T>
constexpr int64_t kLastStep = sizeof(T) == sizeof(float) ? 1 << 10 : 1 << 17;

// The same of Laguerre's, whose recurrence loses bits with the square of the degree near zero.
template <class T>
constexpr int64_t kLastLaguerreStep = sizeof(T) == sizeof(float) ? 1 << 10 : 1 << 13;

enum class Kind { First, Second, Third, Fourth };

// The last of p(0) = 1, p(1) = first, p(k + 1) = step(k, p(k), p(k - 1)). A NaN remains one.
template <class T, class Step>
T recurrence(int64_t n, T first, Step&& step) {
  if (n == 0) return T(1);
  T before = T(1), last = first;
  for (int64_t k = 1; k < n && !std::isnan(last); ++k) {
    const T next = step(static_cast<T>(k), last, before);
    before = last;
    last = next;
  }
  return last;
}

// At 1 and -1, where the polynomials are 1 or count up.
template <class T>
T chebyshev_at_end(Kind kind, bool is_right, int64_t n) {
  const T count = static_cast<T>(n), sign = is_right || n % 2 == 0 ? T(1) : T(-1);
  const bool is_flat = kind == Kind::First || kind == (is_right ? Kind::Third : Kind::Fourth);
  if (is_flat) return sign;
  return sign * (kind == Kind::Second ? count + 1 : count + count + 1);
}

template <class T>
T chebyshev_by_angle(Kind kind, T x, int64_t n) {
  const T angle = std::acos(x), count = static_cast<T>(n), half = T(0.5);
  const bool is_end = kind == Kind::Third    ? std::sin(angle * half) == T(1)
                      : kind == Kind::Fourth ? std::cos(angle * half) == T(1)
                                             : false;
  if (is_end) return chebyshev_at_end<T>(kind, x > 0, n);
  switch (kind) {
    case Kind::First: return std::cos(count * angle);
    case Kind::Second: return std::sin((count + 1) * angle) / std::sin(angle);
    case Kind::Third: return std::cos((count + half) * angle) / std::cos(angle * half);
    case Kind::Fourth: return std::sin((count + half) * angle) / std::sin(angle * half);
  }
  return T(0);
}

template <class T>
T or_nan(double value) {
  const T rounded = static_cast<T>(value);
  return std::isfinite(rounded) ? rounded : std::numeric_limits<T>::quiet_NaN();
}

// For |x| > 1. The third kind and the fourth are each other's where the sign of x changes.
template <class T>
T chebyshev_beyond_one(Kind kind, T x, int64_t n) {
  const double count = static_cast<double>(n);
  if (x < 0 && kind == Kind::Third)
    kind = Kind::Fourth;
  else if (x < 0 && kind == Kind::Fourth)
    kind = Kind::Third;
  const double value = kind == Kind::First    ? hyperbolic_ratio(false, x, count, 0)
                       : kind == Kind::Second ? hyperbolic_ratio(true, x, count + 1, 1)
                       : kind == Kind::Third  ? hyperbolic_ratio(false, x, count + 0.5, 0.5)
                                              : hyperbolic_ratio(true, x, count + 0.5, 0.5);
  return or_nan<T>(x < 0 && n % 2 != 0 ? -value : value);
}

template <class T>
T chebyshev(Kind kind, T x, int64_t n) {
  if (n < 0) return T(0);
  if (std::abs(x) == T(1)) return chebyshev_at_end<T>(kind, x > 0, n);
  if (n > kLastDegreeByRecurrence && std::abs(x) < T(1)) return chebyshev_by_angle(kind, x, n);
  if (n > kLastStep<T>) return chebyshev_beyond_one(kind, x, n);
  const T twice = x + x;
  const T first = kind == Kind::First    ? x
                  : kind == Kind::Second ? twice
                  : kind == Kind::Third  ? twice - 1
                                         : twice + 1;
  return recurrence(n, first, [=](T, T last, T before) { return twice * last - before; });
}

// Beyond this degree the numbers of Hermite polynomials leave the type, in PyTorch too.
template <class T>
constexpr int64_t kLastHermite = sizeof(T) == sizeof(float) ? 128 : 512;

template <class T>
T hermite(T first, int64_t n, T factor, T weight) {
  if (n < 0) return T(0);
  if (n > kLastHermite<T>) return std::numeric_limits<T>::quiet_NaN();
  return recurrence(n, first,
                    [=](T k, T last, T before) { return factor * last - weight * k * before; });
}

template <class T>
T laguerre(T x, int64_t n) {
  if (n < 0) return T(0);
  if (x == T(0)) return T(1);
  if (n > kLastLaguerreStep<T>) return or_nan<T>(laguerre_of_high_degree(x, n));
  return recurrence(n, T(1) - x, [=](T k, T last, T before) {
    return ((k + k + (T(1) - x)) * last - k * before) / (k + 1);
  });
}

template <class T>
T legendre(T x, int64_t n) {
  if (n < 0) return T(0);
  if (std::abs(x) == T(1)) return x > 0 || n % 2 == 0 ? T(1) : T(-1);
  if (n > kLastStep<T>) return or_nan<T>(legendre_of_high_degree(x, n));
  return recurrence(
      n, x, [=](T k, T last, T before) { return ((k + k + 1) * x * last - k * before) / (k + 1); });
}

// out = f(x, n), all of out's dtype; degrees are cut to integers. Infinity and NaN are no degrees:
// their results are those of negative ones.
template <class F>
void for_degrees(const Tensor& x, const Tensor& n, Tensor& out, F&& f) {
  const Tensor arguments = x.to(out.dtype()), degrees = n.to(out.dtype());
  const LoopNest nest = walk_of_pairs(out, arguments, degrees);
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      for_elements(nest, 32, [&](char* const* at) {
        const T degree = *reinterpret_cast<const T*>(at[2]);
        const bool is_degree = degree > -1 && degree < T(0x1p63);
        const int64_t count = is_degree ? static_cast<int64_t>(degree) : -1;
        *reinterpret_cast<T*>(at[0]) = f(*reinterpret_cast<const T*>(at[1]), count);
      });
  });
}

}  // namespace

#define TAEDA_CHEBYSHEV(letter, kind)                                                              \
  void special_chebyshev_polynomial_##letter(const Tensor& x, const Tensor& n, Tensor& out) {      \
    for_degrees(x, n, out, [](auto v, int64_t k) { return chebyshev(Kind::kind, v, k); });         \
  }                                                                                                \
  void special_shifted_chebyshev_polynomial_##letter(const Tensor& x, const Tensor& n,             \
                                                     Tensor& out) {                                \
    for_degrees(x, n, out, [](auto v, int64_t k) { return chebyshev(Kind::kind, v + v - 1, k); }); \
  }
TAEDA_CHEBYSHEV(t, First)
TAEDA_CHEBYSHEV(u, Second)
TAEDA_CHEBYSHEV(v, Third)
TAEDA_CHEBYSHEV(w, Fourth)
#undef TAEDA_CHEBYSHEV

void special_hermite_polynomial_h(const Tensor& x, const Tensor& n, Tensor& out) {
  for_degrees(x, n, out,
              [](auto v, int64_t k) { return hermite(v + v, k, v + v, decltype(v)(2)); });
}
void special_hermite_polynomial_he(const Tensor& x, const Tensor& n, Tensor& out) {
  for_degrees(x, n, out, [](auto v, int64_t k) { return hermite(v, k, v, decltype(v)(1)); });
}
void special_laguerre_polynomial_l(const Tensor& x, const Tensor& n, Tensor& out) {
  for_degrees(x, n, out, [](auto v, int64_t k) { return laguerre(v, k); });
}
void special_legendre_polynomial_p(const Tensor& x, const Tensor& n, Tensor& out) {
  for_degrees(x, n, out, [](auto v, int64_t k) { return legendre(v, k); });
}

}  // namespace taeda::cpu
