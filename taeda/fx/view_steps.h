// One view of a tensor as a function of values: how to look, and how to put what was written back.
//
//   select(x, 0, 1)   looks by select(x, 0, 1)    puts back by select_scatter(x, part, 0, 1)
//   view(x, [6])      looks by view(x, [6])       puts back by view(part, sizes of x)
//
// Where copies are wanted, the copying forms of the operators are used: select_copy, view_copy.
#pragma once

#include "taeda/dispatch/operator.h"

namespace taeda::fx {

// Note [Moved memory]: as_strided counts from the start of a storage. The value that a tensor of
// the program has may lie elsewhere in its storage than the tensor does, and a later value
// elsewhere again: the offset of a step counts from the tensor that it looks at.
class ViewStep {
 public:
  // Result number `output` of the operator, whose argument `position` is the viewed tensor.
  ViewStep(dispatch::Operator& op, dispatch::Stack args, size_t position, size_t output);

  Tensor apply(const Tensor& whole, bool copies) const;
  // `invert` works; other views are put back by their memory.
  bool has_inverse() const;
  // `whole` with `part` where this step looks.
  Tensor invert(const Tensor& whole, const Tensor& part, bool copies) const;

 private:
  int64_t dim_of(const Tensor& whole, size_t i) const;
  // A part of split is a slice.
  bool is_part() const;
  dispatch::Stack slice_arguments(const Tensor& whole) const;

  dispatch::Operator* op_;
  dispatch::Stack args_;
  size_t position_, output_;
};

// Note [Moved memory]: arguments for `seen`, of the program, become those for the value that stands
// at `position` among them.
void move_to_memory_of(dispatch::Operator& op, dispatch::Stack& stack, const Tensor& seen,
                       size_t position);

// "view" -> "view_copy".
bool has_copying_form(const dispatch::Operator& op);
// Calls the operator; with `copies` its copying form, if it has one, which modes see whole.
void call_view(dispatch::Operator& op, dispatch::Stack& stack, bool copies);

}  // namespace taeda::fx
