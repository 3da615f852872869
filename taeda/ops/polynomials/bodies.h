// Bodies of orthogonal polynomials: calls, as the degree is a tensor.
#pragma once

#include "taeda/kernel/called/vec.h"
#include "taeda/ops/body_names.h"

namespace taeda::bodies {

#define TAEDA_POLYNOMIAL(Body, name, argument) \
  struct Body {                                \
    static constexpr int kCost = 32;           \
    template <class V>                         \
    static V apply(V x, V n) {                 \
      return name(argument, n);                \
    }                                          \
  };
#define TAEDA_CHEBYSHEV(Letter, letter)                                                      \
  TAEDA_POLYNOMIAL(SpecialChebyshevPolynomial##Letter, chebyshev_polynomial_##letter, x)     \
  TAEDA_POLYNOMIAL(SpecialShiftedChebyshevPolynomial##Letter, chebyshev_polynomial_##letter, \
                   x + x - V(1))
TAEDA_CHEBYSHEV(T, t)
TAEDA_CHEBYSHEV(U, u)
TAEDA_CHEBYSHEV(V, v)
TAEDA_CHEBYSHEV(W, w)
TAEDA_POLYNOMIAL(SpecialHermitePolynomialH, hermite_polynomial_h, x)
TAEDA_POLYNOMIAL(SpecialHermitePolynomialHe, hermite_polynomial_he, x)
TAEDA_POLYNOMIAL(SpecialLaguerrePolynomialL, laguerre_polynomial_l, x)
TAEDA_POLYNOMIAL(SpecialLegendrePolynomialP, legendre_polynomial_p, x)
#undef TAEDA_CHEBYSHEV
#undef TAEDA_POLYNOMIAL

}  // namespace taeda::bodies
