// Vec<Complex<T>>: complex values one element wide, with the functions that exist for them.
#pragma once

#include "taeda/base/complex.h"
#include "taeda/kernel/body.h"
#include "taeda/kernel/vec_real.h"

TAEDA_MATH_BEGIN

template <class T>
struct VecStorage<Complex<T>> {
  using Raw = td_complex<T>;
  using MaskRaw = bool;
  using Element = Complex<T>;
};

template <class T>
struct Vec<Complex<T>> {
  using Raw = td_complex<T>;
  using Element = Complex<T>;
  using MaskType = Mask<Complex<T>>;
  using RealType = Vec<One<T>>;
  static constexpr int kWidth = 1;
  static constexpr bool kIsInteger = false;
  static constexpr bool kIsComplex = true;
  Raw raw;

  Vec() = default;
  template <class C, std::enable_if_t<std::is_arithmetic_v<C>, int> = 0>
  TD_FN Vec(C constant) : raw{static_cast<T>(constant), T(0)} {}
  TD_FN explicit Vec(Complex<T> constant) : raw{constant.re, constant.im} {}
  TD_FN static Vec from_raw(Raw raw) {
    Vec v;
    v.raw = raw;
    return v;
  }
  TD_FN static Vec load(const Element* p) { return from_raw({p->re, p->im}); }
  TD_FN void store(Element* p) const { *p = Element(raw.re, raw.im); }
  // A single lane has no tail: the runner never asks for fewer than one element.
  TD_FN static Vec load_tail(const Element* p, int64_t) { return load(p); }
  TD_FN void store_tail(Element* p, int64_t) const { store(p); }

  TD_FN friend Vec operator+(Vec a, Vec b) { return from_raw(a.raw + b.raw); }
  TD_FN friend Vec operator-(Vec a, Vec b) { return from_raw(a.raw - b.raw); }
  TD_FN friend Vec operator*(Vec a, Vec b) { return from_raw(a.raw * b.raw); }
  TD_FN friend Vec operator/(Vec a, Vec b) { return from_raw(a.raw / b.raw); }
  TD_FN friend Vec operator-(Vec a) { return from_raw(-a.raw); }
  TD_FN friend MaskType operator==(Vec a, Vec b) { return MaskType::from_raw(a.raw == b.raw); }
  TD_FN friend MaskType operator!=(Vec a, Vec b) { return MaskType::from_raw(a.raw != b.raw); }
  TD_FN friend Vec where(MaskType c, Vec a, Vec b) { return c.raw ? a : b; }
  TD_FN friend RealType real(Vec a) { return RealType::from_raw(a.raw.re); }
  TD_FN friend RealType imag(Vec a) { return RealType::from_raw(a.raw.im); }
  TD_FN friend RealType abs(Vec a) { return RealType::from_raw(td_abs(a.raw)); }
  TD_FN friend Vec conj(Vec a) { return from_raw(td_conj(a.raw)); }
  TD_FN friend MaskType isnan(Vec a) { return MaskType::from_raw(td_isnan(a.raw)); }
  TD_FN friend MaskType isinf(Vec a) { return MaskType::from_raw(td_isinf(a.raw)); }
  TD_FN friend MaskType isfinite(Vec a) { return MaskType::from_raw(td_isfinite(a.raw)); }
  TD_FN friend Vec pow(Vec a, Vec b) { return from_raw(td_pow(a.raw, b.raw)); }
};

// re + i im; the identity on re where V is real. Sym has its own.
template <class V, int = V::kWidth>
TD_FN V make_complex(RealOf<V> re, RealOf<V> im) {
  if constexpr (V::kIsComplex)
    return V::from_raw({re.raw, im.raw});
  else
    return (void)im, re;
}

TAEDA_MATH_END
