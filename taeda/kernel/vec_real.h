// Vec<T> and Mask<T> for real numbers: the SIMD values that eager bodies are read with.
//
// Vec<T> (T = float, double, int64_t, uint64_t) is one register of kWidth lanes. Vec<One<T>> is a
// single lane with the same operations, the real partner of the complex values. All functions are
// found by argument-dependent lookup under their plain names; see body.h for the concept of a body.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "taeda/kernel/math.h"
#include "taeda/kernel/math_memory.h"

TAEDA_MATH_BEGIN

// Tag of a value that is one lane wide.
template <class T>
struct One {};

template <class T>
struct VecStorage;
template <>
struct VecStorage<float> {
  using Raw = td_f32;
  using MaskRaw = td_i32;
  using Element = float;
};
template <>
struct VecStorage<double> {
  using Raw = td_f64;
  using MaskRaw = td_i64;
  using Element = double;
};
template <>
struct VecStorage<int64_t> {
  using Raw = td_i64;
  using MaskRaw = td_i64;
  using Element = int64_t;
};
template <>
struct VecStorage<uint64_t> {
  using Raw = td_u64;
  using MaskRaw = td_i64;
  using Element = uint64_t;
};
template <>
struct VecStorage<One<int64_t>> {
  using Raw = int64_t;
  using MaskRaw = bool;
  using Element = int64_t;
};
template <>
struct VecStorage<One<uint64_t>> {
  using Raw = uint64_t;
  using MaskRaw = bool;
  using Element = uint64_t;
};
template <>
struct VecStorage<One<float>> {
  using Raw = float;
  using MaskRaw = bool;
  using Element = float;
};
template <>
struct VecStorage<One<double>> {
  using Raw = double;
  using MaskRaw = bool;
  using Element = double;
};

// One truth value a lane: all bits set or none (a plain bool for one-lane values).
template <class T>
struct Mask {
  using Raw = typename VecStorage<T>::MaskRaw;
  static constexpr int kWidth =
      sizeof(typename VecStorage<T>::Raw) / sizeof(typename VecStorage<T>::Element);
  Raw raw;

  Mask() = default;
  explicit Mask(bool value) : raw(value ? !Raw{} : Raw{}) {}
  // Questions about the parts of a complex value, answered for the value.
  template <class U, std::enable_if_t<!std::is_same_v<U, T> && std::is_same_v<Raw, bool> &&
                                          std::is_same_v<typename VecStorage<U>::MaskRaw, bool>,
                                      int> = 0>
  TD_FN Mask(Mask<U> part) : raw(part.raw) {}
  static Mask from_raw(Raw raw) {
    Mask m;
    m.raw = raw;
    return m;
  }

  // Memory holds one byte per lane, 0 or 1; any other non-zero byte reads as true.
  TD_FN static Mask load(const uint8_t* bytes) { return from_raw(td_load_mask<Raw>(bytes)); }
  TD_FN void store(uint8_t* bytes) const { td_store_mask(bytes, raw); }
  TD_FN static Mask load_tail(const uint8_t* bytes, int64_t n) {
    uint8_t buffer[kWidth] = {};
    std::memcpy(buffer, bytes, n);
    return load(buffer);
  }
  TD_FN void store_tail(uint8_t* bytes, int64_t n) const {
    uint8_t buffer[kWidth];
    store(buffer);
    std::memcpy(bytes, buffer, n);
  }

  TD_FN friend Mask operator&(Mask a, Mask b) { return from_raw(a.raw & b.raw); }
  TD_FN friend Mask operator|(Mask a, Mask b) { return from_raw(a.raw | b.raw); }
  TD_FN friend Mask operator^(Mask a, Mask b) { return from_raw(a.raw ^ b.raw); }
  TD_FN friend Mask operator!(Mask a) { return from_raw(!a.raw); }
  TD_FN friend Mask where(Mask c, Mask a, Mask b) {
    return from_raw((c.raw & a.raw) | ((!c.raw) & b.raw));
  }
};

template <class T>
struct Vec {
  using Raw = typename VecStorage<T>::Raw;
  using Element = typename VecStorage<T>::Element;
  using MaskType = Mask<T>;
  using RealType = Vec;
  static constexpr int kWidth = sizeof(Raw) / sizeof(Element);
  static constexpr bool kIsInteger = std::is_integral_v<Element>;
  static constexpr bool kIsComplex = false;
  // Signed integers are added as unsigned ones: they wrap.
  using Wrapping =
      std::conditional_t<std::is_same_v<Raw, td_i64>, td_u64,
                         std::conditional_t<std::is_same_v<Raw, int64_t>, uint64_t, Raw>>;
  Raw raw;

  Vec() = default;
  template <class C, std::enable_if_t<std::is_arithmetic_v<C>, int> = 0>
  TD_FN Vec(C constant) : raw(Raw{} + static_cast<Element>(constant)) {
    // Raw{} + -0.0 would be +0.0.
    if constexpr (!kIsInteger) raw = static_cast<Element>(constant) - Raw{};
  }
  TD_FN static Vec from_raw(Raw raw) {
    Vec v;
    v.raw = raw;
    return v;
  }

  TD_FN static Vec load(const Element* p) {
    Vec v;
    std::memcpy(&v.raw, p, sizeof(Raw));
    return v;
  }
  TD_FN void store(Element* p) const { std::memcpy(p, &raw, sizeof(Raw)); }
  // The first n lanes, n < kWidth; the others read as zero.
  TD_FN static Vec load_tail(const Element* p, int64_t n) {
    Vec v = Vec(0);
    std::memcpy(&v.raw, p, n * sizeof(Element));
    return v;
  }
  TD_FN void store_tail(Element* p, int64_t n) const { std::memcpy(p, &raw, n * sizeof(Element)); }

  TD_FN friend Vec operator+(Vec a, Vec b) {
    return from_raw((Raw)((Wrapping)a.raw + (Wrapping)b.raw));
  }
  TD_FN friend Vec operator-(Vec a, Vec b) {
    return from_raw((Raw)((Wrapping)a.raw - (Wrapping)b.raw));
  }
  TD_FN friend Vec operator*(Vec a, Vec b) {
    return from_raw((Raw)((Wrapping)a.raw * (Wrapping)b.raw));
  }
  TD_FN friend Vec operator-(Vec a) { return from_raw((Raw)(-(Wrapping)a.raw)); }
  TD_FN friend Vec operator/(Vec a, Vec b) {
    if constexpr (kIsInteger)
      return from_raw(td_div_trunc(a.raw, b.raw));
    else
      return from_raw(a.raw / b.raw);
  }
  TD_FN friend MaskType operator<(Vec a, Vec b) { return MaskType::from_raw(a.raw < b.raw); }
  TD_FN friend MaskType operator>(Vec a, Vec b) { return MaskType::from_raw(a.raw > b.raw); }
  TD_FN friend MaskType operator<=(Vec a, Vec b) { return MaskType::from_raw(a.raw <= b.raw); }
  TD_FN friend MaskType operator>=(Vec a, Vec b) { return MaskType::from_raw(a.raw >= b.raw); }
  TD_FN friend MaskType operator==(Vec a, Vec b) { return MaskType::from_raw(a.raw == b.raw); }
  TD_FN friend MaskType operator!=(Vec a, Vec b) { return MaskType::from_raw(a.raw != b.raw); }
  TD_FN friend Vec where(MaskType c, Vec a, Vec b) { return from_raw(c.raw ? a.raw : b.raw); }

  // maximum and minimum are NaN if either argument is, fmax and fmin only if both are.
  TD_FN friend Vec maximum(Vec a, Vec b) { return from_raw(td_maximum(a.raw, b.raw)); }
  TD_FN friend Vec minimum(Vec a, Vec b) { return from_raw(td_minimum(a.raw, b.raw)); }
  TD_FN friend Vec fmax(Vec a, Vec b) { return from_raw(td_fmax(a.raw, b.raw)); }
  TD_FN friend Vec fmin(Vec a, Vec b) { return from_raw(td_fmin(a.raw, b.raw)); }

  TD_FN friend Vec real(Vec a) { return a; }
  TD_FN friend Vec imag(Vec) { return Vec(0); }
  TD_FN friend Vec conj(Vec a) { return a; }
  TD_FN friend MaskType isnan(Vec a) { return a != a; }
  TD_FN friend MaskType isinf(Vec a) {
    if constexpr (kIsInteger)
      return MaskType(false);
    else
      return MaskType::from_raw(td_abs(a.raw) == td_inf<Raw>());
  }
  TD_FN friend MaskType isfinite(Vec a) {
    if constexpr (kIsInteger)
      return MaskType(true);
    else
      return MaskType::from_raw(td_abs(a.raw) < td_inf<Raw>());
  }
  TD_FN friend Vec abs(Vec a) { return from_raw(td_abs(a.raw)); }

  // Integer quotients by zero are 0, and the least number divided by -1 is itself.
  TD_FN friend Vec div_trunc(Vec a, Vec b) { return from_raw(td_div_trunc(a.raw, b.raw)); }
  TD_FN friend Vec div_floor(Vec a, Vec b) { return from_raw(td_div_floor(a.raw, b.raw)); }
  TD_FN friend Vec fmod(Vec a, Vec b) { return from_raw(td_fmod(a.raw, b.raw)); }
  TD_FN friend Vec remainder(Vec a, Vec b) { return from_raw(td_remainder(a.raw, b.raw)); }
  TD_FN friend Vec pow(Vec a, Vec b) { return from_raw(td_pow(a.raw, b.raw)); }

  // Bits, for integers only. Shifts by 64 or more push every bit out.
  TD_FN friend Vec operator&(Vec a, Vec b) { return from_raw(a.raw & b.raw); }
  TD_FN friend Vec operator|(Vec a, Vec b) { return from_raw(a.raw | b.raw); }
  TD_FN friend Vec operator^(Vec a, Vec b) { return from_raw(a.raw ^ b.raw); }
  TD_FN friend Vec operator~(Vec a) { return from_raw(~a.raw); }
  TD_FN friend Vec operator<<(Vec a, Vec b) { return from_raw(td_shift_left(a.raw, b.raw)); }
  TD_FN friend Vec operator>>(Vec a, Vec b) { return from_raw(td_shift_right(a.raw, b.raw)); }
};

// Functions of floating-point values, each the td_ function of math.h under its plain name.
#define TAEDA_VEC_UNARY(name)                  \
  template <class T>                           \
  TD_FN Vec<T> name(Vec<T> x) {                \
    return Vec<T>::from_raw(td_##name(x.raw)); \
  }
#define TAEDA_VEC_BINARY(name)                        \
  template <class T>                                  \
  TD_FN Vec<T> name(Vec<T> x, Vec<T> y) {             \
    return Vec<T>::from_raw(td_##name(x.raw, y.raw)); \
  }
TAEDA_VEC_UNARY(floor)
TAEDA_VEC_UNARY(ceil)
TAEDA_VEC_UNARY(trunc)
TAEDA_VEC_UNARY(round)
TAEDA_VEC_UNARY(sqrt)
TAEDA_VEC_UNARY(rsqrt)
TAEDA_VEC_UNARY(exp)
TAEDA_VEC_UNARY(exp2)
TAEDA_VEC_UNARY(expm1)
TAEDA_VEC_UNARY(log)
TAEDA_VEC_UNARY(log2)
TAEDA_VEC_UNARY(log10)
TAEDA_VEC_UNARY(log1p)
TAEDA_VEC_UNARY(sin)
TAEDA_VEC_UNARY(cos)
TAEDA_VEC_UNARY(tan)
TAEDA_VEC_UNARY(asin)
TAEDA_VEC_UNARY(acos)
TAEDA_VEC_UNARY(atan)
TAEDA_VEC_UNARY(sinh)
TAEDA_VEC_UNARY(cosh)
TAEDA_VEC_UNARY(tanh)
TAEDA_VEC_UNARY(asinh)
TAEDA_VEC_UNARY(acosh)
TAEDA_VEC_UNARY(atanh)
TAEDA_VEC_UNARY(erf)
TAEDA_VEC_UNARY(erfc)
TAEDA_VEC_UNARY(erfinv)
TAEDA_VEC_UNARY(lgamma)
TAEDA_VEC_UNARY(digamma)
TAEDA_VEC_BINARY(atan2)
TAEDA_VEC_BINARY(copysign)
#undef TAEDA_VEC_UNARY
#undef TAEDA_VEC_BINARY

template <class T>
TD_FN Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  return Vec<T>::from_raw(td_fma(a.raw, b.raw, c.raw));
}

TAEDA_MATH_END
