// The arithmetic of Taeda: every transcendental function of eager and generated code.
//
// One header for C++20 on the CPU (GCC vector types) and CUDA (NVRTC, no standard headers). See
// Note [One arithmetic] in math_types.h. All real functions are within 2 ulp (lgamma and digamma
// next to their zeros: 2 ulp of 1), with IEEE special values, subnormals included.
#pragma once

#include "taeda/kernel/math_complex.h"
#include "taeda/kernel/math_exp.h"
#include "taeda/kernel/math_int.h"
#include "taeda/kernel/math_log.h"
#include "taeda/kernel/math_special.h"
#include "taeda/kernel/math_trig.h"
