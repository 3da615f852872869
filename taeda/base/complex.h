// Complex numbers as plain storage: two adjacent reals, the layout of NumPy, C and CUDA.
#pragma once

namespace taeda {

template <class T>
struct Complex {
  T re = 0, im = 0;
  constexpr Complex() = default;
  constexpr Complex(T re, T im = 0) : re(re), im(im) {}
  template <class U>
  constexpr explicit Complex(const Complex<U>& o)
      : re(static_cast<T>(o.re)), im(static_cast<T>(o.im)) {}
  constexpr T real() const { return re; }
  constexpr T imag() const { return im; }
  constexpr Complex conj() const { return {re, -im}; }
  friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend constexpr Complex operator-(Complex a) { return {-a.re, -a.im}; }
  friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend constexpr Complex operator/(Complex a, Complex b) {
    // Scaled by the larger part of b, so that |b|^2 neither overflows nor underflows.
    T abs_re = b.re < 0 ? -b.re : b.re, abs_im = b.im < 0 ? -b.im : b.im;
    if (abs_re >= abs_im) {
      if (abs_re == 0 && abs_im == 0) return {a.re / abs_re, a.im / abs_im};
      T ratio = b.im / b.re, scale = T(1) / (b.re + b.im * ratio);
      return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
    }
    T ratio = b.re / b.im, scale = T(1) / (b.im + b.re * ratio);
    return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
  }
  Complex& operator+=(Complex b) { return *this = *this + b; }
  Complex& operator-=(Complex b) { return *this = *this - b; }
  Complex& operator*=(Complex b) { return *this = *this * b; }
  Complex& operator/=(Complex b) { return *this = *this / b; }
  friend constexpr bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
};

}  // namespace taeda
