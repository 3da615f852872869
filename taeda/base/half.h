// Narrow floating-point storage types; arithmetic happens in float, conversion rounds to nearest
// even.
#pragma once

#include <bit>
#include <cstdint>

namespace taeda {

namespace half_detail {

constexpr float bits_to_float(uint32_t bits) { return std::bit_cast<float>(bits); }
constexpr uint32_t float_to_bits(float value) { return std::bit_cast<uint32_t>(value); }

// Rounds a float to a format with E exponent and M mantissa bits (IEEE-like, bias 2^(E-1)-1).
// FiniteOnly: no infinities, one NaN (all ones), one more binade (float8 e4m3fn).
template <int E, int M, bool FiniteOnly>
constexpr uint32_t encode(float value) {
  constexpr int bias = (1 << (E - 1)) - 1;
  constexpr uint32_t exponent_max = (1u << E) - 1;
  const uint32_t bits = float_to_bits(value);
  const uint32_t sign = (bits >> 31) << (E + M);
  const uint32_t magnitude = bits & 0x7fffffffu;
  constexpr uint32_t infinity = exponent_max << M;
  constexpr uint32_t nan = FiniteOnly ? (1u << (E + M)) - 1 : infinity | (1u << (M - 1));
  if (magnitude > 0x7f800000u) return sign | nan;
  const int exponent = static_cast<int>(magnitude >> 23) - 127 + bias;
  uint32_t result;
  if (exponent <= 0) {
    // Denormal of the target: shift the full mantissa, rounding to nearest even.
    const int shift = 23 - M + 1 - exponent;
    if (shift > 24 + 1) return sign;
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    result = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    if (rest > half || (rest == half && (result & 1))) ++result;
  } else {
    const uint32_t rounded = magnitude + ((1u << (23 - M - 1)) - 1) + ((magnitude >> (23 - M)) & 1);
    const int64_t shifted =
        (static_cast<int64_t>(rounded) >> (23 - M)) - (static_cast<int64_t>(127 - bias) << M);
    if (FiniteOnly) {
      if (shifted >= static_cast<int64_t>(nan)) return sign | nan;
    } else if (shifted >= static_cast<int64_t>(infinity)) {
      return sign | infinity;
    }
    result = static_cast<uint32_t>(shifted);
  }
  return sign | result;
}

template <int E, int M, bool FiniteOnly>
constexpr float decode(uint32_t bits) {
  constexpr int bias = (1 << (E - 1)) - 1;
  const uint32_t sign = (bits >> (E + M)) << 31;
  const uint32_t magnitude = bits & ((1u << (E + M)) - 1);
  const uint32_t exponent = magnitude >> M, mantissa = magnitude & ((1u << M) - 1);
  if (FiniteOnly ? magnitude == (1u << (E + M)) - 1 : exponent == (1u << E) - 1)
    return bits_to_float(sign | 0x7f800000u | (FiniteOnly ? 0x400000u : mantissa << (23 - M)));
  if (exponent == 0) {
    const float scale = bits_to_float(static_cast<uint32_t>(127 + 1 - bias - M) << 23);
    const float value = static_cast<float>(mantissa) * scale;
    return sign ? -value : value;
  }
  return bits_to_float(sign | ((exponent + 127 - bias) << 23) | (mantissa << (23 - M)));
}

}  // namespace half_detail

struct BFloat16 {
  uint16_t bits = 0;
  constexpr BFloat16() = default;
  constexpr BFloat16(float value) : bits(round(value)) {}
  constexpr operator float() const {
    return half_detail::bits_to_float(static_cast<uint32_t>(bits) << 16);
  }
  static constexpr BFloat16 from_bits(uint16_t bits) {
    BFloat16 r;
    r.bits = bits;
    return r;
  }

 private:
  static constexpr uint16_t round(float value) {
    const uint32_t b = half_detail::float_to_bits(value);
    if ((b & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
    return static_cast<uint16_t>((b + 0x7fffu + ((b >> 16) & 1)) >> 16);
  }
};

struct Half {
  uint16_t bits = 0;
  constexpr Half() = default;
// nvcc knows no __fp16 in device code.
#if defined(__aarch64__) && defined(__ARM_FP16_FORMAT_IEEE) && !defined(__CUDACC__)
  constexpr Half(float value) : bits(std::bit_cast<uint16_t>(static_cast<__fp16>(value))) {}
  constexpr operator float() const { return static_cast<float>(std::bit_cast<__fp16>(bits)); }
#else
  constexpr Half(float value)
      : bits(static_cast<uint16_t>(half_detail::encode<5, 10, false>(value))) {}
  constexpr operator float() const { return half_detail::decode<5, 10, false>(bits); }
#endif
  static constexpr Half from_bits(uint16_t bits) {
    Half r;
    r.bits = bits;
    return r;
  }
};

struct Float8E4M3 {
  static constexpr float kLargest = 448.0f;  // it has no infinity
  uint8_t bits = 0;
  constexpr Float8E4M3() = default;
  constexpr Float8E4M3(float value)
      : bits(static_cast<uint8_t>(half_detail::encode<4, 3, true>(value))) {}
  constexpr operator float() const { return half_detail::decode<4, 3, true>(bits); }
};

struct Float8E5M2 {
  uint8_t bits = 0;
  constexpr Float8E5M2() = default;
  constexpr Float8E5M2(float value)
      : bits(static_cast<uint8_t>(half_detail::encode<5, 2, false>(value))) {}
  constexpr operator float() const { return half_detail::decode<5, 2, false>(bits); }
};

}  // namespace taeda
