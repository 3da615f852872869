// Indices whose quotients and remainders belong together.
#pragma once

#include "taeda/symbolic/expr.h"

namespace taeda::inductor {

//   b*(a//b) + Mod(a, b)                to   a
//   b*Mod(a//b, c) + Mod(a, b)          to   Mod(a, b*c)
// and multiples of both, for divisors that are sizes (no place has a remainder by 0): what is left
// of a place that went through views is often one even step of memory.
TAEDA_API const symbolic::Expr* merged_quotients(symbolic::ExprPool& pool,
                                                 const symbolic::Expr* at);

}  // namespace taeda::inductor
