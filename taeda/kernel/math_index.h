// Quotients of indices. Part of generated code.
#pragma once

#include "taeda/kernel/math_int.h"

TAEDA_MATH_BEGIN

// td_div_floor and td_remainder. Numbers of 32 bits, as most indices are, divide several times
// faster than longer ones.
TD_FN bool td_are_short(td_long a, td_long b) { return ((td_ulong)(a | b) >> 32) == 0; }
TD_FN td_long td_index_quotient(td_long a, td_long b) {
  return td_are_short(a, b) && b != 0 ? (td_long)((unsigned)a / (unsigned)b) : td_div_floor(a, b);
}
TD_FN td_long td_index_remainder(td_long a, td_long b) {
  return td_are_short(a, b) && b != 0 ? (td_long)((unsigned)a % (unsigned)b) : td_remainder(a, b);
}

TAEDA_MATH_END
