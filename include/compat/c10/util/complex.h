// c10::complex, and the functions of std that take it.
#pragma once

#include <complex>

#include "ATen/core_names.h"

namespace torch_compat {
template <class T>
std::complex<T> std_complex(::taeda::Complex<T> z) {
  return {z.re, z.im};
}
template <class T>
::taeda::Complex<T> own_complex(const std::complex<T>& z) {
  return {z.real(), z.imag()};
}
}  // namespace torch_compat

namespace taeda {
// As std::complex: (1,2).
template <class T>
std::ostream& operator<<(std::ostream& out, const Complex<T>& z) {
  return out << ::torch_compat::std_complex(z);
}
}  // namespace taeda

// PyTorch's programs call these by std's names.
namespace std {
template <class T>
T abs(const ::taeda::Complex<T>& z) {
  return abs(::torch_compat::std_complex(z));
}
template <class T>
T arg(const ::taeda::Complex<T>& z) {
  return arg(::torch_compat::std_complex(z));
}
template <class T>
constexpr T norm(const ::taeda::Complex<T>& z) {
  return z.re * z.re + z.im * z.im;
}
template <class T>
constexpr T real(const ::taeda::Complex<T>& z) {
  return z.re;
}
template <class T>
constexpr T imag(const ::taeda::Complex<T>& z) {
  return z.im;
}
template <class T>
constexpr ::taeda::Complex<T> conj(const ::taeda::Complex<T>& z) {
  return z.conj();
}
#define TORCH_COMPAT_COMPLEX_FUNCTION(name)                                   \
  template <class T>                                                          \
  ::taeda::Complex<T> name(const ::taeda::Complex<T>& z) {                    \
    return ::torch_compat::own_complex(name(::torch_compat::std_complex(z))); \
  }
TORCH_COMPAT_COMPLEX_FUNCTION(exp)
TORCH_COMPAT_COMPLEX_FUNCTION(log)
TORCH_COMPAT_COMPLEX_FUNCTION(sqrt)
TORCH_COMPAT_COMPLEX_FUNCTION(sin)
TORCH_COMPAT_COMPLEX_FUNCTION(cos)
TORCH_COMPAT_COMPLEX_FUNCTION(tan)
TORCH_COMPAT_COMPLEX_FUNCTION(sinh)
TORCH_COMPAT_COMPLEX_FUNCTION(cosh)
TORCH_COMPAT_COMPLEX_FUNCTION(tanh)
#undef TORCH_COMPAT_COMPLEX_FUNCTION
}  // namespace std
