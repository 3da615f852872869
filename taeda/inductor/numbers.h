// Symbolic numbers that are no integers.
//
// Note [Computed numbers]: x * (lr * 0.1 + n / 10) with floats and sizes that change is one kernel,
// which reads the floats from memory (Note [Numbers as inputs]) and computes the number where it
// uses it. Calls and results that need such a number have it computed by the plan, where a float is
// a symbol among those of sizes and its value their bits. Of other numbers (rounded to digits, of
// powers) eager code computes the value between two plans.
#pragma once

#include "taeda/base/function_ref.h"
#include "taeda/kernel/definition.h"

namespace taeda::inductor {

// Whether kernels and plans can compute an expression, with the bits that Python has for it.
bool is_computed(const symbolic::Expr* number);

// The value of a float in a kernel; `input` gives that of a symbol.
kernel::Sym emit_number(kernel::Emitter& e, const symbolic::Expr* number,
                        FunctionRef<kernel::Sym(const symbolic::Expr*)> input);

}  // namespace taeda::inductor
