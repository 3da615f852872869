// In-place operators and views as functions of values.
#include "taeda/fx/functional_calls.h"

#include <algorithm>
#include <string>

#include "taeda/core/unbacked.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/memory_looks.h"
#include "taeda/fx/tracer.h"
#include "taeda/ops/filling.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/selection/operators.h"
#include "taeda/ops/view/operators.h"

namespace taeda::fx {
namespace {

using dispatch::Operator;
using dispatch::Schema;
using dispatch::Stack;
using dispatch::Value;
using dispatch::ViewInverse;

// Whether the elements of two tensors of the same sizes lie in the same way: strides of dimensions
// of size one do not tell.
bool lies_as(const Tensor& t, const Tensor& other) {
  for (size_t d = 0; d < t.sym_sizes().size(); ++d)
    if (!is_known(SymOp::Eq, t.sym_sizes()[d], 1) && t.sym_strides()[d] != other.sym_strides()[d])
      return false;
  return true;
}

// The same values in the layout of the root.
Tensor laid_out_as(const Tensor& root, Tensor value) {
  if (value.sym_strides() == root.sym_strides()) return value;
  if (lies_as(value, root))
    return taeda::as_strided(value, value.sym_sizes(), root.sym_strides(),
                             value.impl()->sym_storage_offset());
  return taeda::as_strided_scatter(root, value, root.sym_sizes(), root.sym_strides(),
                                   root.impl()->sym_storage_offset());
}

// The same values in memory like that of `own`, in which they lie.
Tensor copied_to(const Tensor& own, const Tensor& value) {
  const Tensor copied = taeda::clone(value);
  if (lies_as(copied, own)) return laid_out_as(own, copied);
  return taeda::as_strided_scatter(own, value, own.sym_sizes(), own.sym_strides(),
                                   own.impl()->sym_storage_offset());
}

// Whether the tensor lies as the other one, of the same sizes, would without gaps: every view of
// that one which is no as_strided is a view of this one, too.
bool lies_without_gaps(const Tensor& t, const Tensor& gapped) {
  if (t.impl()->has_symbolic_sizes() || gapped.impl()->has_symbolic_sizes()) return false;
  const IntList sizes = gapped.sizes(), strides = gapped.strides();
  std::vector<size_t> dims;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != 1) dims.push_back(d);
  std::ranges::sort(dims, {}, [&](size_t d) { return strides[d]; });
  int64_t expected = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0 && strides[dims[i]] == strides[dims[i - 1]]) return false;
    if (t.strides()[dims[i]] != expected) return false;
    expected *= sizes[dims[i]];
  }
  return true;
}

// The arguments that are not results, as text. Two forms of an operator have these in common.
std::string inputs_of(const Schema& schema) {
  std::string out;
  for (const dispatch::Argument& a : schema.arguments)
    if (!a.is_written || !a.is_kwarg_only) out += str(a.type.text(), " ", a.name, ",");
  return out;
}

// "add_.Tensor" and "add.out" -> "add.Tensor": the overload of the functional name that takes the
// same arguments and writes none; null if there is none. Composites do not count: they may be made
// of writes.
Operator* functional_of(const Operator& op, const Schema& schema, bool is_out) {
  std::string name = op.name;
  if (!is_out) name.pop_back();
  const std::string wanted = inputs_of(schema);
  // "normal_functional": where the plain name means something else.
  for (const std::string& tried : {name, name + "_functional"}) {
    for (Operator* candidate : dispatch::find_overloads(tried)) {
      if (candidate->is_composite) continue;
      const Schema& other = schema_of(*candidate);
      const bool writes = std::any_of(other.arguments.begin(), other.arguments.end(),
                                      [](const dispatch::Argument& a) { return a.is_written; });
      if (!writes && inputs_of(other) == wanted) return candidate;
    }
  }
  return nullptr;
}

// The values computed by operators that exist only in place.
Tensor written_value(const Operator& op, const Tensor& self, const Stack& stack) {
  switch (op.traits.overwrites) {
    case dispatch::Overwrite::Source: return stack.at(1).get<Tensor>();
    case dispatch::Overwrite::Zeros: return taeda::zeros_like(self);
    case dispatch::Overwrite::None: break;
  }
  fail(ErrorKind::Runtime, "functionalize: aten::", op.full_name(), " has no functional form");
}

// Whether copying `b` into `a` gives `b` itself: no conversion and no broadcast is needed.
bool is_like(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.device() == b.device() && a.sym_sizes() == b.sym_sizes();
}

// Elements of memory from the first to the last one of a tensor.
SymInt extent_of(const Tensor& t) {
  SymInt last = 0;
  for (size_t d = 0; d < t.sym_sizes().size(); ++d) {
    if (t.sym_sizes()[d] == SymInt(0)) return 0;
    last = last + (t.sym_sizes()[d] - SymInt(1)) * t.sym_strides()[d];
  }
  return last + SymInt(1);
}

// Results for which no copying operator exists: each is cloned by itself.
void call_part_by_part(Operator& op, Stack& stack, size_t position, size_t count) {
  const Tensor whole = stack.at(position).get<Tensor>();
  const bool is_list = schema_of(op).returns.at(0).type.is_list;
  std::vector<Tensor> parts;
  for (size_t i = 0; i < count; ++i)
    parts.push_back(ViewStep(op, stack, position, i).apply(whole, true));
  stack.assign(1, is_list ? Value(std::move(parts)) : Value(parts.at(0)));
}

}  // namespace

// ---- states ----

void Aliased::write(Tensor written, bool is_lent) {
  const Tensor layout = gapped.defined() ? gapped : value;
  if (is_outside && !lies_as(written, layout) && lies_without_gaps(written, layout)) {
    gapped = layout;
    value = std::move(written);
    own = Tensor();
  } else {
    value = laid_out_as(layout, written);
    gapped = Tensor();
    is_lent &= value.is_alias_of(written);
    if (!is_lent) own = Tensor();
    if (is_lent && !own.defined()) own = layout;
  }
  ++generation;
  ++age;
}

void Aliased::lay_out() {
  if (!gapped.defined() && !own.defined()) return;
  value = gapped.defined() ? laid_out_as(gapped, value) : copied_to(own, value);
  gapped = own = Tensor();
  ++age;
}

IntrusivePtr<FunctionalState> FunctionalState::of_root(Tensor value) {
  auto s = make_intrusive<FunctionalState>();
  s->root = make_intrusive<Aliased>(value);
  s->value = std::move(value);
  return s;
}

IntrusivePtr<FunctionalState> FunctionalState::of_view(Tensor value, const Tensor& seen_as,
                                                       const SymInt& start,
                                                       const FunctionalState& source, ViewStep step,
                                                       bool copies) {
  auto s = make_intrusive<FunctionalState>();
  s->root = source.root;
  s->value = std::move(value);
  s->is_view = true;
  s->steps = source.steps;
  s->steps.push_back(std::move(step));
  s->copies = copies;
  s->sizes = SymIntVec(seen_as.sym_sizes());
  s->strides = SymIntVec(seen_as.sym_strides());
  s->dtype = seen_as.dtype();
  s->is_conj = seen_as.is_conj();
  s->is_neg = seen_as.is_neg();
  const SymInt bytes = start * SymInt(item_size(s->root->value.dtype()));
  s->offset = seen_as.impl()->sym_storage_offset() - bytes / SymInt(item_size(s->dtype));
  s->seen = s->root->age;
  return s;
}

IntrusivePtr<FunctionalState> FunctionalState::copy() const {
  auto s = make_intrusive<FunctionalState>();
  s->root = root;
  s->value = value;
  s->is_view = is_view;
  s->steps = steps;
  s->copies = copies;
  s->sizes = sizes;
  s->strides = strides;
  s->offset = offset;
  s->is_conj = is_conj;
  s->is_neg = is_neg;
  s->dtype = dtype;
  s->seen = seen;
  return s;
}

Tensor FunctionalState::look() const {
  if (!has_inverse()) root->lay_out();
  Tensor t = root->value;
  for (const ViewStep& step : steps) t = step.apply(t, copies);
  return t;
}

bool FunctionalState::is_same_place(const FunctionalState& other) const {
  if (this == &other) return true;
  if (root.get() != other.root.get()) return false;
  struct Place {
    explicit Place(const FunctionalState& s)
        : look(s.root->gapped.defined() ? s.root->gapped : s.root->value),
          sizes(s.is_view ? SymIntList(s.sizes) : look.sym_sizes()),
          strides(s.is_view ? SymIntList(s.strides) : look.sym_strides()),
          offset(s.is_view ? s.offset : SymInt(0)),
          dtype(s.is_view ? s.dtype : look.dtype()),
          is_conj(s.is_view ? s.is_conj : look.is_conj()),
          is_neg(s.is_view ? s.is_neg : look.is_neg()) {}
    const Tensor& look;
    SymIntList sizes, strides;
    SymInt offset;
    DType dtype;
    bool is_conj, is_neg;
  };
  const Place a(*this), b(other);
  return a.dtype == b.dtype && a.is_conj == b.is_conj && a.is_neg == b.is_neg &&
         a.offset == b.offset && a.sizes == b.sizes && a.strides == b.strides;
}

// By the inverses of the steps.
Tensor FunctionalState::through_steps(Tensor part) const {
  std::vector<Tensor> wholes{root->value};
  for (size_t i = 0; i + 1 < steps.size(); ++i)
    wholes.push_back(steps[i].apply(wholes.back(), copies));
  for (size_t i = steps.size(); i-- > 0;) part = steps[i].invert(wholes[i], part, copies);
  return part;
}

bool FunctionalState::has_inverse() const {
  return std::all_of(steps.begin(), steps.end(),
                     [](const ViewStep& step) { return step.has_inverse(); });
}

void FunctionalState::write(Tensor part, bool is_lent) const {
  if (has_inverse()) {
    const Tensor whole = through_steps(part);
    return root->write(whole, is_lent && whole.is_alias_of(part));
  }
  root->lay_out();
  const Tensor& whole = root->value;
  if (whole.is_conj() != is_conj) part = part.conj();
  if (whole.is_neg() != is_neg) part = part.neg();
  const int64_t own_size = item_size(whole.dtype()), size = item_size(dtype);
  const SymInt& begin = whole.impl()->sym_storage_offset();
  const SymInt start = size < own_size ? begin * SymInt(own_size / size) + offset
                                       : begin + offset * SymInt(size / own_size);
  root->write(scatter_into_memory(whole, part, SymIntList(sizes), SymIntList(strides), start));
}

bool FunctionalState::may_meet() const {
  const Tensor& whole = root->value;
  if (has_inverse() || whole.dtype() != dtype || whole.is_conj() != is_conj ||
      whole.is_neg() != is_neg)
    return false;
  if (has_symbolic(sizes) || has_symbolic(strides)) return true;
  std::vector<size_t> dims;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != SymInt(1)) dims.push_back(d);
  std::ranges::sort(dims, [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  SymInt reached(0);  // by the dimensions so far
  for (const size_t d : dims) {
    if (strides[d] <= reached) return true;
    reached = reached + (sizes[d] - SymInt(1)) * strides[d];
  }
  return false;
}

void FunctionalState::fill(const Tensor& places, const Value& with) const {
  root->lay_out();
  const Tensor& whole = root->value;
  const SymInt& begin = whole.impl()->sym_storage_offset();
  SymInt end = begin + SymInt(1);
  for (size_t d = 0; d < whole.sym_sizes().size(); ++d)
    end = end + (whole.sym_sizes()[d] - SymInt(1)) * whole.sym_strides()[d];
  const Tensor line = taeda::arange(Scalar(end), DType::Int64, {}, whole.device());
  const Tensor at = taeda::as_strided(line, SymIntList(sizes), SymIntList(strides), begin + offset);
  const Tensor hits = taeda::zeros({end}, DType::Int64, {}, whole.device())
                          .index_add(0, at.flatten(), places.flatten().to(DType::Int64));
  const Tensor is_hit =
      taeda::as_strided(hits, whole.sym_sizes(), whole.sym_strides(), begin).ne(Scalar(0));
  root->write(with.is<Tensor>() ? whole.masked_fill(is_hit, with.get<Tensor>())
                                : whole.masked_fill(is_hit, with.to_scalar()));
}

// ---- calls ----

// Brings a tensor up to date with its root.
const Tensor& FunctionalCalls::synced(const Tensor& t, FunctionalState& s) {
  if (s.seen != s.root->age) {
    s.value = s.look();
    s.seen = s.root->age;
    value_changed(t, s);
  }
  return s.value;
}

Tensor FunctionalCalls::value_of(const Tensor& t) {
  FunctionalState* s = find(t);
  return s ? synced(t, *s) : t;
}

void FunctionalCalls::take_values(Stack& stack) {
  dispatch::map_tensors(stack, [&](const Tensor& t) { return value_of(t); });
}

// Where an operator that fills would write in a tensor of these sizes: it fills one of truth
// values. Operators without a value to fill in leave zeros.
static Tensor filled_places(Operator& functional, const Tensor& like, Stack stack, int value) {
  stack[0] = Value(like.new_full(like.sym_sizes(), Scalar(value < 0), DType::Bool));
  if (value >= 0) {
    Value& given = stack.at(static_cast<size_t>(value));
    given = given.is<Tensor>() ? Value(given.get<Tensor>().to(DType::Bool).new_ones({}))
                               : Value(Scalar(true));
  }
  dispatch::call_boxed(functional, stack);
  const Tensor& kept = stack.at(0).get<Tensor>();
  return value < 0 ? kept.logical_not() : kept;
}

// fill_, masked_fill_, tril_ and their like of an expanded tensor or of windows: an element is
// filled if one of those in its place is. True where it was done.
bool FunctionalCalls::fill_repeats(Operator& op, const Schema& schema, const Tensor& self,
                                   Stack stack) {
  if (!fills_repeats(op)) return false;
  FunctionalState& s = *find(self);
  std::vector<int64_t> repeated;
  for (size_t d = 0; d < s.strides.size(); ++d)
    if (s.strides[d] == SymInt(0) && s.sizes[d] != SymInt(1))
      repeated.push_back(static_cast<int64_t>(d));
  const bool meets = repeated.empty() && s.may_meet();
  if (repeated.empty() && !meets) return false;
  const auto named = std::find_if(schema.arguments.begin(), schema.arguments.end(),
                                  [](const dispatch::Argument& a) { return a.name == "value"; });
  const int value =
      named == schema.arguments.end() ? -1 : static_cast<int>(named - schema.arguments.begin());
  const bool fills_all = schema.arguments.size() == (value < 0 ? 1 : 2);
  if (meets && fills_all) return false;
  Operator* functional = functional_of(op, schema, false);
  TAEDA_INTERNAL_CHECK(functional || fills_all, op.full_name(), " fills parts in place alone");
  Tensor once = synced(self, s), places;
  if (!fills_all) places = filled_places(*functional, once, stack, value);
  const Value with = value < 0 ? Value(Scalar(0)) : stack.at(static_cast<size_t>(value));
  if (meets) {
    s.fill(places, with);
    synced(self, s);
    return true;
  }
  const IntrusivePtr<FunctionalState> part = s.copy();
  for (const int64_t d : repeated) {
    once = once.narrow(d, 0, 1);
    if (!fills_all) places = places.any(d, true);
    part->sizes[static_cast<size_t>(d)] = SymInt(1);
  }
  if (fills_all && !functional) {
    part->write(written_value(op, once, stack));
  } else if (fills_all) {
    stack[0] = Value(once);
    dispatch::call_boxed(*functional, stack);
    part->write(stack.at(0).get<Tensor>());
  } else {
    part->write(with.is<Tensor>() ? once.masked_fill(places, with.get<Tensor>())
                                  : once.masked_fill(places, with.to_scalar()));
  }
  synced(self, s);
  return true;
}

// Records that `self` now holds `value`.
void FunctionalCalls::write(const Tensor& self, Tensor value, bool is_lent) {
  FunctionalState& s = *find(self);
  const Tensor& old = synced(self, s);
  if (value.dtype() != old.dtype()) value = value.to(old.dtype());
  if (value.sym_sizes() != old.sym_sizes()) value = value.expand(old.sym_sizes());
  s.write(std::move(value), is_lent);
  synced(self, s);
}

FunctionalState& FunctionalCalls::state_to_write(const Operator& op, const Tensor& self) {
  FunctionalState* s = find(self);
  TAEDA_CHECK(s, "functionalize: the function writes in place (", dispatch::qualified_name(op),
              ") to a tensor that it captured. Pass the tensor as an argument.");
  return *s;
}

void FunctionalCalls::run_inplace(Operator& op, const Schema& schema, Stack& stack) {
  const Tensor self = stack.at(0).get<Tensor>();
  FunctionalState& state = state_to_write(op, self);
  if (op.traits.overwrites == dispatch::Overwrite::Source) {
    const FunctionalState* source = find(stack.at(1).get<Tensor>());
    if (source && state.is_same_place(*source)) {  // nothing is written
      stack.assign(1, Value(self));
      return;
    }
  }
  const Stack program = stack;
  take_values(stack);
  const Tensor before = synced(self, state);
  if (fill_repeats(op, schema, self, stack)) {
    stack.assign(1, Value(self));
    return;
  }
  const bool is_whole_copy = op.traits.overwrites == dispatch::Overwrite::Source &&
                             is_like(before, stack.at(1).get<Tensor>());
  Operator* functional = is_whole_copy ? nullptr : functional_of(op, schema, false);
  if (!functional) {
    write(self, written_value(op, before, stack), is_whole_copy);
  } else if (schema_of(*functional).arguments[0].alias.empty()) {
    dispatch::call_boxed(*functional, stack);
    write(self, stack.at(0).get<Tensor>());
  } else {  // unsqueeze_ and its like: the tensor looks at its root in another way
    const Stack args = stack;
    const Tensor look = look_in_place(op, *functional, program, args);
    call_view(*functional, stack, removes_views_);
    replace(self, FunctionalState::of_view(stack.at(0).get<Tensor>(), look, start_of(self, state),
                                           state, {*functional, args, 0, 0}, removes_views_));
  }
  stack.assign(1, Value(self));
}

// Memory that suffices is looked at in another way. Otherwise the tensor, if it is the only one
// there, becomes one of its own, whose first elements are those of the memory.
void FunctionalCalls::run_resize(Operator& op, Stack& stack) {
  const Tensor self = stack.at(0).get<Tensor>();
  FunctionalState& state = state_to_write(op, self);
  state.root->lay_out();
  const Stack program = stack;
  take_values(stack);
  const Tensor before = synced(self, state);
  const SymInt start = start_of(self, state);
  const Tensor look = look_in_place(op, op, program, stack);
  stack.assign(1, Value(self));
  const SymIntList sizes = look.sym_sizes(), strides = look.sym_strides();
  if (sizes == before.sym_sizes() && strides == before.sym_strides()) return;
  const SymInt memory = start + extent_of(state.root->value);
  if (look.impl()->sym_storage_offset() + extent_of(look) <= memory) {
    const Stack args{Value(before), Value(std::vector<SymInt>(sizes.begin(), sizes.end())),
                     Value(std::vector<SymInt>(strides.begin(), strides.end())),
                     Value(before.impl()->sym_storage_offset())};
    Stack call = args;
    call_view(ops::as_strided, call, removes_views_);
    replace(self, FunctionalState::of_view(call.at(0).get<Tensor>(), look, start, state,
                                           {ops::as_strided, args, 0, 0}, removes_views_));
    return;
  }
  TAEDA_CHECK(!state.is_view && is_alone(self, state),
              "Attempted to resize a view tensor to a larger size. This is not allowed in the "
              "functionalization pass");
  const SymInt held = extent_of(before);
  const Tensor line = taeda::as_strided(before, {held}, {SymInt(1)});
  const Tensor more = taeda::empty({extent_of(look) - held}, before.dtype(), {}, before.device());
  replace(self, FunctionalState::of_root(
                    taeda::as_strided(taeda::cat({line, more}), sizes, strides, SymInt(0))));
}

// From now on the tensor looks at the root of another one.
void FunctionalCalls::run_set(Operator& op, Stack& stack) {
  const Tensor self = stack.at(0).get<Tensor>(), source = stack.at(1).get<Tensor>();
  state_to_write(op, self);
  const IntrusivePtr<FunctionalState> state = state_to_write(op, source).copy();
  take_memory(op, stack);
  replace(self, state);
  stack.assign(1, Value(self));
}

void FunctionalCalls::run_out(Operator& op, const Schema& schema, Stack& stack) {
  Operator* functional = functional_of(op, schema, true);
  TAEDA_CHECK(functional, "functionalize: aten::", op.full_name(), " has no functional form");
  std::vector<Tensor> outs;
  Stack inputs;
  for (size_t i = 0; i < stack.size(); ++i) {
    if (schema.arguments[i].is_written)
      outs.push_back(stack[i].get<Tensor>());
    else
      inputs.push_back(stack[i]);
  }
  take_values(inputs);
  dispatch::call_boxed(*functional, inputs);
  stack.clear();
  for (size_t i = 0; i < outs.size(); ++i) {
    TAEDA_CHECK(find(outs[i]),
                "functionalize: out= must be a tensor made inside the function, or its argument");
    const Tensor result = inputs.at(i).get<Tensor>();
    if (const SymIntList sizes = result.sym_sizes(); outs[i].sym_sizes() != sizes) {
      Stack resize{Value(outs[i]), Value(std::vector<SymInt>(sizes.begin(), sizes.end())), Value()};
      run_resize(ops::resize_, resize);
    }
    write(outs[i], result);
    stack.push_back(Value(outs[i]));
  }
}

// An operator defined at run time, which has no functional form that we know: it writes to copies,
// and the arguments become those.
void FunctionalCalls::run_on_copies(Operator& op, const Schema& schema, Stack& stack) {
  struct Copy {
    Tensor argument, value;
  };
  std::vector<Copy> copies;
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!schema.arguments[i].is_written) continue;
    for_each_tensor(stack[i], [&](const Tensor& t) {
      copies.push_back({t, taeda::clone(synced(t, state_to_write(op, t)))});
    });
  }
  const auto find_copy = [&](const Tensor& t, Tensor Copy::* part) {
    return std::find_if(copies.begin(), copies.end(),
                        [&](const Copy& c) { return (c.*part).is_same(t); });
  };
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    const auto copy = find_copy(t, &Copy::argument);
    return copy != copies.end() ? copy->value : value_of(t);
  });
  dispatch::call_boxed(op, stack);
  for (const Copy& c : copies) write(c.argument, c.value);
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    const auto copy = find_copy(t, &Copy::value);
    return copy != copies.end() ? copy->argument : make_root(t);
  });
}

void FunctionalCalls::run_view(Operator& op, size_t position, Stack& stack) {
  const Tensor source = stack.at(position).get<Tensor>();
  FunctionalState* state = find(source);
  if (!state) return dispatch::call_boxed(op, stack);
  if (op.traits.inverse == ViewInverse::None) state->root->lay_out();
  const Stack program = stack;
  take_values(stack);
  const std::vector<Tensor> seen = looks(op, program, stack, position);
  move_to_memory_of(op, stack, source, position);
  const Stack args = stack;
  const SymInt start = start_of(source, *state);
  const bool is_identity = op.traits.inverse == ViewInverse::Same && leaves_out_identity(op);
  if (is_identity)
    stack = {stack.at(position)};
  else if (removes_views_ && !has_copying_form(op))
    call_part_by_part(op, stack, position, seen.size());
  else
    call_view(op, stack, removes_views_);
  size_t at = 0;
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    const size_t i = at++;
    const Tensor& look = seen.at(i);
    auto made =
        FunctionalState::of_view(t, look, start, *state, {op, args, position, i}, removes_views_);
    if (is_identity) made->steps.pop_back();
    return make(std::move(made), &look);
  });
}

void FunctionalCalls::run(Operator& op, Stack& stack) {
  static const Operator* const set_to_tensor = dispatch::find_operator("set_", "source_Tensor");
  if (&op == set_to_tensor) return run_set(op, stack);
  const Schema& schema = schema_of(op);
  bool is_of_program = false;
  for (const Value& v : stack)
    for_each_tensor(v, [&](const Tensor& t) { is_of_program |= find(t) != nullptr; });
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const dispatch::Argument& a = schema.arguments[i];
    if (&op == &ops::resize_ || &op == &ops::resize_as_) return run_resize(op, stack);
    if (a.is_written && !op.table) return run_on_copies(op, schema, stack);
    if (a.is_written)
      return a.is_kwarg_only ? run_out(op, schema, stack) : run_inplace(op, schema, stack);
    if (!a.alias.empty() && is_of_program) return run_view(op, i, stack);
  }
  take_values(stack);
  dispatch::call_boxed(op, stack);
  // Factories too: the function may write to the tensors that it makes.
  dispatch::map_tensors(stack, [&](const Tensor& t) { return make_root(t); });
}

bool stays_whole(const Operator& op, const Schema& schema) {
  if (const Tracer* tracer = active_tracer(); tracer && tracer->opened.count(&op)) return false;
  if (op.traits.comes_apart) return false;
  const auto is_plain = [](const dispatch::Argument& a) {
    return !a.is_written && a.alias.empty();
  };
  const auto is_tensor = [](const auto& r) { return r.type.base == "Tensor"; };
  return std::all_of(schema.arguments.begin(), schema.arguments.end(), is_plain) &&
         (std::any_of(schema.returns.begin(), schema.returns.end(), is_tensor) ||
          only_checks_tensor(schema));
}

}  // namespace taeda::fx
