// Bessel functions of one number, in double precision.
#pragma once

namespace taeda::cpu {

double bessel_j0(double x);
double bessel_j1(double x);

// I of order 0 or 1 times exp(-x), for x >= 0.
double scaled_modified_i(int order, double x);

}  // namespace taeda::cpu
