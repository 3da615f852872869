// Python's a // b and a % b of floats: by the exact remainder, which a rounded quotient may miss.
// The divisor is not zero.
#pragma once

#include <cmath>

namespace taeda::symbolic {

inline double float_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

inline double float_floor_divide(double a, double b) {
  const double rest = std::fmod(a, b);
  const bool is_above = rest != 0 && (rest < 0) != (b < 0);
  const double whole = (a - rest) / b - (is_above ? 1 : 0);
  if (whole == 0) return std::copysign(0.0, a / b);
  // Rounded: an integer is next to it, on either side.
  const double below = std::floor(whole);
  return whole - below > 0.5 ? below + 1 : below;
}

}  // namespace taeda::symbolic
