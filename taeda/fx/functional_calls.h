// Functionalization of one call: in-place operators compute new values instead of writing.
//
// Note [Functional tensors]: tensors that share memory share an `Aliased` value, that of the tensor
// they are all views of. A write to one of them computes the written values with the functional
// operator, puts them into a new value of the whole, and counts a generation; the others notice
// that theirs is older and look at the whole again.
//
// What stands for a tensor of the program is up to the derived class: a wrapper of a level
// (functionalize.cpp), or a fake tensor that autograd has seen (functional_mode.h).
#pragma once

#include "taeda/dispatch/schema.h"
#include "taeda/fx/view_steps.h"

namespace taeda::fx {

// The tensor at the root of a set of views, as it is now.
//
// Note [Gaps]: memory may have gaps between the elements of the root. What as_strided gives depends
// on them, so a written value lies as the root did. The memory of an input is outside: the value
// that is copied there need not have its gaps, and gets them only where a view asks for them.
//
// Note [Lent values]: what is copied into the whole of the memory is its value from then on,
// without a copy in the graph. But it lies in the memory of another tensor, at a place that only a
// run tells, and as_strided goes by places. So a view that does makes the copy.
struct Aliased final : RefCounted {
  explicit Aliased(Tensor v) : value(std::move(v)) {}
  void write(Tensor written, bool is_lent = false);
  // Gives the value memory of its own, with the gaps of the memory.
  void lay_out();

  Tensor value;
  uint64_t generation = 0;  // counts writes
  uint64_t age = 0;         // counts values
  bool is_outside = false;
  Tensor gapped;  // the last value with gaps, where the present one has none
  Tensor own;     // the last value in memory of its own, where the present one is lent
};

// How a tensor looks at its root; the root itself has no view. The steps repeat the program's
// views, the geometry describes memory. A write through a view without an inverse uses the
// geometry.
struct FunctionalState final : RefCounted {
  IntrusivePtr<Aliased> root;
  Tensor value;  // that of age `seen`
  bool is_view = false;
  std::vector<ViewStep> steps;
  bool copies = false;  // views are copies
  SymIntVec sizes, strides;
  SymInt offset = 0;  // from the root's own
  bool is_conj = false, is_neg = false;
  DType dtype = DType::Undefined;
  uint64_t seen = 0;

  static IntrusivePtr<FunctionalState> of_root(Tensor value);
  // `seen_as`: a tensor that looks at the root's memory as the new one does. `start`: the root's
  // storage offset there.
  static IntrusivePtr<FunctionalState> of_view(Tensor value, const Tensor& seen_as,
                                               const SymInt& start, const FunctionalState& source,
                                               ViewStep step, bool copies);
  // That of another tensor which looks at the root as this one does.
  IntrusivePtr<FunctionalState> copy() const;
  // The root's present value as this tensor looks at it.
  Tensor look() const;
  // Whether both tensors are the same elements at the same places.
  bool is_same_place(const FunctionalState& other) const;
  // Puts `part` where this tensor looks; `is_lent`: it is the value of another tensor.
  void write(Tensor part, bool is_lent = false) const;
  // Fills the places of the root in which an element of `places` is true. Like `write` for a part
  // whose elements may share places.
  void fill(const Tensor& places, const dispatch::Value& with) const;
  // Whether elements may share places, as those of windows do, or cannot be told not to.
  bool may_meet() const;

 private:
  bool has_inverse() const;
  Tensor through_steps(Tensor part) const;
};

class FunctionalCalls {
 public:
  explicit FunctionalCalls(bool removes_views) : removes_views_(removes_views) {}
  virtual ~FunctionalCalls() = default;

  // Runs one operator, which is no composite or stays whole, on tensors of the program; results
  // are tensors of the program.
  void run(dispatch::Operator& op, dispatch::Stack& stack);
  // The present value of a tensor of the program; others as they are.
  Tensor value_of(const Tensor& t);

 protected:
  using Stack = dispatch::Stack;

  // Null for tensors that are none of the program's.
  virtual FunctionalState* find(const Tensor& t) = 0;
  // A new tensor of the program. `seen`: of a view, the element of `looks` it stands for.
  virtual Tensor make(IntrusivePtr<FunctionalState> state, const Tensor* seen) = 0;
  // A tensor looks at its root in another way from now on.
  virtual void replace(const Tensor& t, IntrusivePtr<FunctionalState> state) = 0;
  // Runs set_ on tensors of the program, if they have memory.
  virtual void take_memory(dispatch::Operator&, Stack) {}
  // Whether no other tensor of the program looks at its root.
  virtual bool is_alone(const Tensor&, const FunctionalState&) { return false; }
  // Called where the value of a state is a new one.
  virtual void value_changed(const Tensor&, const FunctionalState&) {}
  // Tensors that look at memory as the results of a view do. `program` and `values`: the arguments.
  virtual std::vector<Tensor> looks(dispatch::Operator& op, const Stack& program,
                                    const Stack& values, size_t position) = 0;
  // The storage offset of the root of a tensor, as `looks` counts.
  virtual SymInt start_of(const Tensor&, const FunctionalState& state) {
    return state.root->value.impl()->sym_storage_offset();
  }
  // The same for an in-place operator (unsqueeze_) whose function is a view.
  virtual Tensor look_in_place(dispatch::Operator& op, dispatch::Operator& functional,
                               const Stack& program, const Stack& values) = 0;
  // Whether a view that gives its argument itself (detach) is left out.
  virtual bool leaves_out_identity(const dispatch::Operator&) const { return false; }

 private:
  void run_inplace(dispatch::Operator& op, const dispatch::Schema& schema, Stack& stack);
  bool fill_repeats(dispatch::Operator& op, const dispatch::Schema& schema, const Tensor& self,
                    Stack stack);
  void run_resize(dispatch::Operator& op, Stack& stack);
  void run_set(dispatch::Operator& op, Stack& stack);
  void run_out(dispatch::Operator& op, const dispatch::Schema& schema, Stack& stack);
  void run_on_copies(dispatch::Operator& op, const dispatch::Schema& schema, Stack& stack);
  void run_view(dispatch::Operator& op, size_t position, Stack& stack);
  void take_values(Stack& stack);
  const Tensor& synced(const Tensor& t, FunctionalState& s);
  void write(const Tensor& self, Tensor value, bool is_lent = false);
  FunctionalState& state_to_write(const dispatch::Operator& op, const Tensor& self);
  Tensor make_root(Tensor value) {
    return make(FunctionalState::of_root(std::move(value)), nullptr);
  }

  bool removes_views_;
};

// Composites whose results are new tensors, and those that only check: their inside may stay
// unknown, unless a tracer asks for it.
bool stays_whole(const dispatch::Operator& op, const dispatch::Schema& schema);

}  // namespace taeda::fx
