// Functionalization: a level on which in-place operators compute new values instead of writing.
// See Note [Functional tensors] in functional_calls.h.
#pragma once

#include "taeda/dispatch/levels.h"

namespace taeda::fx {

// With `removes_views`, views become copies too. With `keeps_composites`, operators made of others
// stay whole if their schema says that they neither write nor alias.
TAEDA_API uint64_t enter_functionalize_level(bool removes_views, bool keeps_composites = false);
TAEDA_API void exit_functionalize_level(uint64_t id);
// Makes a tensor one of the level's own.
TAEDA_API Tensor make_functional(const Tensor& value, uint64_t level);
// The present value of a tensor of the level; others as they are.
TAEDA_API Tensor functional_value(const Tensor& t, uint64_t level);
// Whether a tensor made by make_functional was written to since.
TAEDA_API bool is_written(const Tensor& t, uint64_t level);

}  // namespace taeda::fx
