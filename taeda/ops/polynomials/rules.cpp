// Orthogonal polynomials, with one number in place of a tensor.
#include "taeda/ops/functions.h"
#include "taeda/ops/polynomials/declarations.h"
#include "taeda/ops/polynomials/functions.h"

namespace taeda::impl {

// The forms of a polynomial in which x or n is a number.
#define TAEDA_POLYNOMIAL(name)                                                           \
  Tensor special_##name##_x_scalar(const Scalar& x, const Tensor& n) {                   \
    return taeda::special_##name(wrapped_scalar(x), n);                                  \
  }                                                                                      \
  Tensor& special_##name##_x_scalar_out(const Scalar& x, const Tensor& n, Tensor& out) { \
    return taeda::special_##name##_out(out, wrapped_scalar(x), n);                       \
  }                                                                                      \
  Tensor special_##name##_n_scalar(const Tensor& x, const Scalar& n) {                   \
    return taeda::special_##name(x, wrapped_scalar(n));                                  \
  }                                                                                      \
  Tensor& special_##name##_n_scalar_out(const Tensor& x, const Scalar& n, Tensor& out) { \
    return taeda::special_##name##_out(out, x, wrapped_scalar(n));                       \
  }

TAEDA_POLYNOMIAL(chebyshev_polynomial_t)
TAEDA_POLYNOMIAL(chebyshev_polynomial_u)
TAEDA_POLYNOMIAL(chebyshev_polynomial_v)
TAEDA_POLYNOMIAL(chebyshev_polynomial_w)
TAEDA_POLYNOMIAL(hermite_polynomial_h)
TAEDA_POLYNOMIAL(hermite_polynomial_he)
TAEDA_POLYNOMIAL(laguerre_polynomial_l)
TAEDA_POLYNOMIAL(legendre_polynomial_p)
TAEDA_POLYNOMIAL(shifted_chebyshev_polynomial_t)
TAEDA_POLYNOMIAL(shifted_chebyshev_polynomial_u)
TAEDA_POLYNOMIAL(shifted_chebyshev_polynomial_v)
TAEDA_POLYNOMIAL(shifted_chebyshev_polynomial_w)

#undef TAEDA_POLYNOMIAL

}  // namespace taeda::impl
