// Functions that expressions call: loops that end where their values say so, and bits taken apart.
//
// X(operation, function, arity, kinds, text): td_function of called/text.h, over real numbers (r)
// or 64-bit integers (i). The row makes the operation, Sym's and Vec's function, the interpreter's
// primitive and the printed call; generated code has the text where it calls one of its functions.
#pragma once

// clang-format off
#define TAEDA_CALLED_FUNCTIONS(X) \
  X(AiryAi, airy_ai, 1, "r", bessel) \
  X(BesselJ0, bessel_j0, 1, "r", bessel) X(BesselJ1, bessel_j1, 1, "r", bessel) \
  X(BesselY0, bessel_y0, 1, "r", bessel) X(BesselY1, bessel_y1, 1, "r", bessel) \
  X(ModifiedBesselK0, modified_bessel_k0, 1, "r", bessel) \
  X(ModifiedBesselK1, modified_bessel_k1, 1, "r", bessel) \
  X(ScaledModifiedBesselK0, scaled_modified_bessel_k0, 1, "r", bessel) \
  X(ScaledModifiedBesselK1, scaled_modified_bessel_k1, 1, "r", bessel) \
  X(SphericalBesselJ0, spherical_bessel_j0, 1, "r", bessel) \
  X(Zeta, zeta, 2, "r", gamma) X(Polygamma, polygamma, 2, "r", gamma) \
  X(Igamma, igamma, 2, "r", gamma) X(Igammac, igammac, 2, "r", gamma) \
  X(Erfcx, erfcx, 1, "r", normal) X(LogNdtr, log_ndtr, 1, "r", normal) \
  X(Ndtri, ndtri, 1, "r", normal) \
  X(ChebyshevPolynomialT, chebyshev_polynomial_t, 2, "r", polynomials) \
  X(ChebyshevPolynomialU, chebyshev_polynomial_u, 2, "r", polynomials) \
  X(ChebyshevPolynomialV, chebyshev_polynomial_v, 2, "r", polynomials) \
  X(ChebyshevPolynomialW, chebyshev_polynomial_w, 2, "r", polynomials) \
  X(HermitePolynomialH, hermite_polynomial_h, 2, "r", polynomials) \
  X(HermitePolynomialHe, hermite_polynomial_he, 2, "r", polynomials) \
  X(LaguerrePolynomialL, laguerre_polynomial_l, 2, "r", polynomials) \
  X(LegendrePolynomialP, legendre_polynomial_p, 2, "r", polynomials) \
  X(Gcd, gcd, 2, "i", integers) X(Lcm, lcm, 2, "i", integers) \
  X(FrexpFraction, frexp_fraction, 1, "r", float_parts) \
  X(FrexpExponent, frexp_exponent, 1, "r", float_parts) \
  X(Nextafter, nextafter, 3, "r", float_parts)
// clang-format on
