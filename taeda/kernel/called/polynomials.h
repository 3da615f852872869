// Orthogonal polynomials of degree n, by their recurrences of three terms; those of high degree by
// formulas (high_degrees.h). The degree is cut to an integer; infinity and NaN are none, and their
// results are those of negative ones.
#pragma once

#include "taeda/kernel/called/high_degrees.h"

TAEDA_MATH_BEGIN

// The last degree for which Chebyshev polynomials between -1 and 1 come from the recurrence.
#define TD_LAST_DEGREE_BY_RECURRENCE 8

// The last degree for which Legendre's polynomials, and Chebyshev's beyond 1, come from it.
// Formulas are exact to the type's bits further on, and recurrences would take a step per degree.
template <class S>
constexpr td_long td_last_step = td_is_single<S> ? 1 << 10 : 1 << 17;

// The same of Laguerre's, whose recurrence loses bits with the square of the degree near zero.
template <class S>
constexpr td_long td_last_laguerre_step = td_is_single<S> ? 1 << 10 : 1 << 13;

// Beyond this degree the numbers of Hermite polynomials leave the type, in PyTorch too.
template <class S>
constexpr td_long td_last_hermite = td_is_single<S> ? 128 : 512;

template <class S>
TD_FN td_long td_degree(S n) {
  return n > S(-1) && n < S(0x1p63) ? (td_long)n : -1;
}

template <class S>
TD_FN S td_finite_or_nan(double value) {
  const S rounded = (S)value;
  return td_abs(rounded) < td_inf<S>() ? rounded : td_nan<S>();
}

// The last of p(0) = 1, p(1) = first, p(k + 1) = step(k, p(k), p(k - 1)). A NaN remains one.
template <class S, class Step>
TD_FN S td_recurrence(td_long n, S first, Step step) {
  if (n == 0) return S(1);
  S before = S(1), last = first;
  for (td_long k = 1; k < n && last == last; ++k) {
    const S next = step((S)k, last, before);
    before = last;
    last = next;
  }
  return last;
}

// The kind, from 1 to 4, at 1 and -1, where the polynomials are 1 or count up.
template <class S>
TD_FN S td_chebyshev_at_end(int kind, bool is_right, td_long n) {
  const S count = (S)n, sign = is_right || n % 2 == 0 ? S(1) : S(-1);
  if (kind == 1 || kind == (is_right ? 3 : 4)) return sign;
  return sign * (kind == 2 ? count + S(1) : count + count + S(1));
}

// In double also for float: a rounded angle counts n times, and near an end the third kind and the
// fourth divide by what is left of it.
TD_FN double td_chebyshev_by_angle(int kind, double x, td_long n) {
  const double angle = td_acos(x), count = (double)n, half = angle * 0.5;
  if (kind == 1) return td_cos(count * angle);
  if (kind == 2) return td_sin((count + 1.0) * angle) / td_sin(angle);
  const double sine = td_sin(half), cosine = td_cos(half);
  if ((kind == 3 ? sine : cosine) == 1.0) return td_chebyshev_at_end<double>(kind, x > 0.0, n);
  return kind == 3 ? td_cos((count + 0.5) * angle) / cosine : td_sin((count + 0.5) * angle) / sine;
}

// For |x| > 1. The third kind and the fourth are each other's where the sign of x changes.
template <class S>
TD_FN S td_chebyshev_beyond_one(int kind, S x, td_long n) {
  const double count = (double)n;
  if (x < S(0) && kind > 2) kind = 7 - kind;
  const double value = kind == 1   ? td_hyperbolic_ratio(false, x, count, 0.0)
                       : kind == 2 ? td_hyperbolic_ratio(true, x, count + 1.0, 1.0)
                                   : td_hyperbolic_ratio(kind == 4, x, count + 0.5, 0.5);
  return td_finite_or_nan<S>(x < S(0) && n % 2 != 0 ? -value : value);
}

template <class S>
TD_SLOW_FN S td_chebyshev(int kind, S x, S degree) {
  const td_long n = td_degree(degree);
  if (n < 0) return S(0);
  if (td_abs(x) == S(1)) return td_chebyshev_at_end<S>(kind, x > S(0), n);
  if (n > TD_LAST_DEGREE_BY_RECURRENCE && td_abs(x) < S(1))
    return (S)td_chebyshev_by_angle(kind, x, n);
  if (n > td_last_step<S>) return td_chebyshev_beyond_one(kind, x, n);
  const S twice = x + x;
  const S third = twice - S(1), fourth = twice + S(1);
  const S first = kind == 1 ? x : kind == 2 ? twice : kind == 3 ? third : fourth;
  return td_recurrence(n, first, [=](S, S last, S before) { return twice * last - before; });
}

template <class S>
TD_SLOW_FN S td_hermite(S first, S degree, S factor, S weight) {
  const td_long n = td_degree(degree);
  if (n < 0) return S(0);
  if (n > td_last_hermite<S>) return td_nan<S>();
  return td_recurrence(n, first,
                       [=](S k, S last, S before) { return factor * last - weight * k * before; });
}

template <class S>
TD_SLOW_FN S td_laguerre_polynomial_l_at(S x, S degree) {
  const td_long n = td_degree(degree);
  if (n < 0) return S(0);
  if (x == S(0)) return S(1);
  if (n > td_last_laguerre_step<S>) return td_finite_or_nan<S>(td_laguerre_of_high_degree(x, n));
  return td_recurrence(n, S(1) - x, [=](S k, S last, S before) {
    return ((k + k + (S(1) - x)) * last - k * before) / (k + S(1));
  });
}

template <class S>
TD_SLOW_FN S td_legendre_polynomial_p_at(S x, S degree) {
  const td_long n = td_degree(degree);
  if (n < 0) return S(0);
  if (td_abs(x) == S(1)) return x > S(0) || n % 2 == 0 ? S(1) : S(-1);
  if (n > td_last_step<S>) return td_finite_or_nan<S>(td_legendre_of_high_degree(x, n));
  return td_recurrence(n, x, [=](S k, S last, S before) {
    return ((k + k + S(1)) * x * last - k * before) / (k + S(1));
  });
}

#define TD_CHEBYSHEV(letter, kind)                               \
  template <class S>                                             \
  TD_FN S td_chebyshev_polynomial_##letter##_at(S x, S degree) { \
    return td_chebyshev(kind, x, degree);                        \
  }
TD_CHEBYSHEV(t, 1)
TD_CHEBYSHEV(u, 2)
TD_CHEBYSHEV(v, 3)
TD_CHEBYSHEV(w, 4)
template <class S>
TD_FN S td_hermite_polynomial_h_at(S x, S degree) {
  return td_hermite(x + x, degree, x + x, S(2));
}
template <class S>
TD_FN S td_hermite_polynomial_he_at(S x, S degree) {
  return td_hermite(x, degree, x, S(1));
}

TD_CALLED(chebyshev_polynomial_t)
TD_CALLED(chebyshev_polynomial_u)
TD_CALLED(chebyshev_polynomial_v)
TD_CALLED(chebyshev_polynomial_w)
TD_CALLED(hermite_polynomial_h)
TD_CALLED(hermite_polynomial_he)
TD_CALLED(laguerre_polynomial_l)
TD_CALLED(legendre_polynomial_p)

TAEDA_MATH_END
