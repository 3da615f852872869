// Units of a program: what is computed once, and what each of them reads.
#pragma once

#include "taeda/inductor/program.h"

namespace taeda::inductor {

// Variable d of a unit's own dimensions, the same for all units.
TAEDA_API const Expr* own_variable(symbolic::ExprPool& pool, size_t d);
// The place of an element in them; 0 in dimensions of one element.
TAEDA_API Place own_place(const Program& program, const Place& sizes);
// The body of a reduction for the type of its values.
TAEDA_API const kernel::ReduceBody& body_of(const Program& program, const Reduction& reduction);
// Sizes of all dimensions that a unit goes through; none for a call.
TAEDA_API const Place& sizes_of(const Unit& unit);

// Note [Units]: results of the program and arguments of calls lie in memory, so they are units, as
// is each reduction. A value with several readers is one where computing it again for each would
// read more memory than writing it down. Everything else is computed where it is read.
TAEDA_API void find_units(Program& program);

}  // namespace taeda::inductor
