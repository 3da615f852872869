// Orthogonal polynomials of degrees that are too high for their recurrences, in double precision.
//
// The formulas hold for every argument but those where the polynomial is 1 or counts up; beside a
// share of about 1 / n^2 of the wave's size, the error is that of an argument changed by its last
// bit. What leaves the type is NaN, as it is after a recurrence.
#pragma once

#include <cstdint>

namespace taeda::cpu {

double legendre_of_high_degree(double x, int64_t n);
double laguerre_of_high_degree(double x, int64_t n);

// sinh or cosh of `count` times the angle of |x| > 1, over that of `part` times the angle; a `part`
// of zero divides by nothing.
double hyperbolic_ratio(bool is_odd, double x, double count, double part);

}  // namespace taeda::cpu
