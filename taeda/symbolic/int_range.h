// IntRange: the interval in which an integer's value is known to lie; its ends may be infinite.
//
// Arithmetic saturates: a bound that leaves int64 becomes infinite, which is always sound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "taeda/base/str.h"

namespace taeda::symbolic {

struct IntRange {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();  // minus infinity
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();  // infinity

  int64_t lo = kMin;
  int64_t hi = kMax;

  static constexpr IntRange of(int64_t v) { return {v, v}; }
  bool is_single() const { return lo == hi && lo != kMin && lo != kMax; }
  bool is_empty() const { return lo > hi; }
  bool has(int64_t v) const { return lo <= v && v <= hi; }
  bool is_inside(const IntRange& o) const { return o.lo <= lo && hi <= o.hi; }
  friend bool operator==(const IntRange&, const IntRange&) = default;
};

inline IntRange intersection(const IntRange& a, const IntRange& b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}
inline IntRange hull(const IntRange& a, const IntRange& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

inline bool is_infinite(int64_t bound) {
  return bound == IntRange::kMin || bound == IntRange::kMax;
}
inline int64_t add_bounds(int64_t a, int64_t b) {
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return b;
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? (a < 0 ? IntRange::kMin : IntRange::kMax) : r;
}
// Zero times infinity is zero: the bound is never reached, the product of the zero is.
inline int64_t mul_bounds(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const int64_t far = (a < 0) == (b < 0) ? IntRange::kMax : IntRange::kMin;
  int64_t r;
  if (is_infinite(a) || is_infinite(b) || __builtin_mul_overflow(a, b, &r)) return far;
  return r;
}
inline int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
// By a positive bound.
inline int64_t floor_div_bounds(int64_t a, int64_t b) {
  if (b == IntRange::kMax) return is_infinite(a) ? a : (a < 0 ? -1 : 0);
  return is_infinite(a) ? a : floor_divide(a, b);
}

inline IntRange operator+(const IntRange& a, const IntRange& b) {
  return {add_bounds(a.lo, b.lo), add_bounds(a.hi, b.hi)};
}
inline IntRange operator*(const IntRange& a, const IntRange& b) {
  const int64_t corners[] = {mul_bounds(a.lo, b.lo), mul_bounds(a.lo, b.hi), mul_bounds(a.hi, b.lo),
                             mul_bounds(a.hi, b.hi)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}
inline IntRange floor_div(const IntRange& a, const IntRange& b) {
  if (b.lo < 1) return {};
  const int64_t corners[] = {floor_div_bounds(a.lo, b.lo), floor_div_bounds(a.lo, b.hi),
                             floor_div_bounds(a.hi, b.lo), floor_div_bounds(a.hi, b.hi)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}
// Python's modulo, whose sign is the divisor's.
inline IntRange modulo(const IntRange& a, const IntRange& b) {
  if (b.lo < 1) return {};
  const int64_t top = b.hi == IntRange::kMax ? b.hi : b.hi - 1;
  return {0, a.lo >= 0 ? std::min(a.hi, top) : top};
}

inline void append(std::string& out, const IntRange& r) {
  out += "VR[";
  out += r.lo == IntRange::kMin ? "-int_oo" : std::to_string(r.lo);
  out += ", ";
  out += r.hi == IntRange::kMax ? "int_oo" : std::to_string(r.hi);
  out += "]";
}

}  // namespace taeda::symbolic
