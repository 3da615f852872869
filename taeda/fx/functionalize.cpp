// In-place operators and views as functions of values.
#include "taeda/fx/functionalize.h"

#include <algorithm>
#include <string>

#include "taeda/dispatch/composites.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/tracer.h"
#include "taeda/fx/view_steps.h"
#include "taeda/ops/batching.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

using dispatch::BelowLevel;
using dispatch::Level;
using dispatch::LevelWrapper;
using dispatch::Operator;
using dispatch::Schema;
using dispatch::Stack;
using dispatch::Value;

// The same memory, with the conjugate and negative flags set or cleared.
Tensor with_signs(Tensor t, bool is_conj, bool is_neg) {
  if (t.is_conj() != is_conj) t = taeda::_conj(t);
  if (t.is_neg() != is_neg) t = taeda::_neg_view(t);
  return t;
}

// The tensor at the root of a set of views, as it is now.
struct Aliased final : RefCounted {
  explicit Aliased(Tensor v) : value(std::move(v)) {}
  Tensor value;
  uint64_t generation = 0;
};

// How a tensor looks at its root; the root itself has no view. The steps repeat the program's
// views, the geometry describes memory. A write through a view without an inverse uses the
// geometry.
struct FunctionalState final : RefCounted {
  IntrusivePtr<Aliased> root;
  bool is_view = false;
  std::vector<ViewStep> steps;
  bool copies = false;  // views are copies
  SymIntVec sizes, strides;
  SymInt offset = 0;  // from the root's own
  bool is_conj = false, is_neg = false;
  DType dtype = DType::Undefined;
  uint64_t seen = 0;

  Tensor look() const { return look_at(root->value); }
  Tensor look_at(Tensor t) const {
    for (const ViewStep& step : steps) t = step.apply(t, copies);
    return t;
  }
};

LevelWrapper& wrapper(const Tensor& t) {
  return const_cast<LevelWrapper&>(*dispatch::wrapper_of(t));
}
FunctionalState& state_of(const Tensor& t) {
  TAEDA_CHECK(wrapper(t).state,
              "functionalize: a tensor comes from an operator that functionalize does not support, "
              "such as control flow");
  return static_cast<FunctionalState&>(*wrapper(t).state);
}

// Brings a tensor up to date with its root; called below the level.
const Tensor& synced(const Tensor& t) {
  FunctionalState& s = state_of(t);
  if (s.seen != s.root->generation) {
    dispatch::update_wrapper(t, s.look(), -1);
    s.seen = s.root->generation;
  }
  return wrapper(t).value;
}

Tensor wrap_root(Tensor value, uint64_t level) {
  auto s = make_intrusive<FunctionalState>();
  s->root = make_intrusive<Aliased>(value);
  Tensor t = dispatch::make_wrapper(std::move(value), level);
  wrapper(t).state = std::move(s);
  return t;
}

// `seen_as`: a tensor that looks at the root's memory as the new one does.
Tensor wrap_view(Tensor value, const Tensor& seen_as, const Tensor& source, ViewStep step,
                 uint64_t level, bool copies) {
  auto s = make_intrusive<FunctionalState>();
  const FunctionalState& from = state_of(source);
  s->root = from.root;
  s->is_view = true;
  s->steps = from.steps;
  s->steps.push_back(std::move(step));
  s->copies = copies;
  s->sizes = SymIntVec(seen_as.sym_sizes());
  s->strides = SymIntVec(seen_as.sym_strides());
  s->dtype = seen_as.dtype();
  s->is_conj = seen_as.is_conj();
  s->is_neg = seen_as.is_neg();
  const TensorImpl* root = s->root->value.impl();
  const SymInt start = root->sym_storage_offset() * SymInt(item_size(root->dtype()));
  s->offset = seen_as.impl()->sym_storage_offset() - start / SymInt(item_size(s->dtype));
  s->seen = s->root->generation;
  Tensor t = dispatch::make_wrapper(std::move(value), level);
  wrapper(t).state = std::move(s);
  return t;
}

// The same values in the layout of the root.
Tensor laid_out_as(const Tensor& root, Tensor value) {
  if (value.sym_strides() == root.sym_strides()) return value;
  return taeda::as_strided_scatter(root, value, root.sym_sizes(), root.sym_strides(),
                                   root.impl()->sym_storage_offset());
}

// The values of `root` with `part` where `s` looks, by the inverses of its steps.
Tensor through_steps(const FunctionalState& s, Tensor part) {
  std::vector<Tensor> seen{s.root->value};
  for (size_t i = 0; i + 1 < s.steps.size(); ++i)
    seen.push_back(s.steps[i].apply(seen.back(), s.copies));
  for (size_t i = s.steps.size(); i-- > 0;) part = s.steps[i].invert(seen[i], part, s.copies);
  return part;
}

// The values of `root` with `part` where `s` looks.
Tensor with_part(const FunctionalState& s, Tensor part) {
  const Tensor& root = s.root->value;
  if (std::all_of(s.steps.begin(), s.steps.end(),
                  [](const ViewStep& step) { return step.has_inverse(); }))
    return laid_out_as(root, through_steps(s, std::move(part)));
  const bool is_real_part = root.is_complex() && !is_complex(s.dtype);
  const Tensor whole = is_real_part ? taeda::view_as_real(root) : root;
  if (whole.is_conj() != s.is_conj) part = part.conj();
  if (whole.is_neg() != s.is_neg) part = part.neg();
  TAEDA_CHECK_KIND(ErrorKind::NotImplemented, whole.dtype() == s.dtype,
                   "functionalize: a write through as_strided or unfold of a view with another "
                   "dtype: got a view of ",
                   dtype_name(s.dtype), " of a tensor of ", dtype_name(whole.dtype()));
  const SymInt start = whole.impl()->sym_storage_offset() + s.offset;
  const Tensor out =
      taeda::as_strided_scatter(whole, part, SymIntList(s.sizes), SymIntList(s.strides), start);
  return is_real_part ? taeda::view_as_complex(out) : out;
}

// Records that `self` now holds `value`.
void write(const Tensor& self, Tensor value) {
  FunctionalState& s = state_of(self);
  const Tensor& old = wrapper(self).value;
  if (value.dtype() != old.dtype()) value = value.to(old.dtype());
  if (value.sym_sizes() != old.sym_sizes()) value = value.expand(old.sym_sizes());
  s.root->value = with_part(s, value);
  ++s.root->generation;
  synced(self);
}

// ---- operators ----

bool is_named(const Operator& op, std::string_view name) { return name == op.name; }

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
  if (is_named(op, "copy_")) return stack.at(1).get<Tensor>();
  if (is_named(op, "zero_")) return taeda::zeros_like(self);
  if (is_named(op, "fill_")) {
    const Value& v = stack.at(1);
    return v.is<Tensor>() ? v.get<Tensor>() : taeda::full_like(self, v.to_scalar());
  }
  fail(ErrorKind::Runtime, "functionalize: aten::", op.full_name(), " has no functional form");
}

void unwrap_all(Stack& stack, uint64_t level) {
  dispatch::map_tensors(
      stack, [&](const Tensor& t) { return dispatch::wrapper_at(t, level) ? synced(t) : t; });
}

// A tensor without values that looks at its root's memory as `t` does, whatever its copy looks
// like.
Tensor model_of(const Tensor& t) {
  const FunctionalState& s = state_of(t);
  const Tensor& root = s.root->value;
  const SymInt start = root.impl()->sym_storage_offset();
  const auto memory = [&](DType dtype) {
    const auto bytes = static_cast<int64_t>(root.storage()->nbytes());
    return taeda::empty({SymInt(bytes / item_size(dtype))}, dtype, {}, Device(DeviceType::Meta));
  };
  if (!s.is_view)
    return with_signs(memory(root.dtype()).as_strided(root.sym_sizes(), root.sym_strides(), start),
                      root.is_conj(), root.is_neg());
  const SymInt at = start * SymInt(item_size(root.dtype())) / SymInt(item_size(s.dtype)) + s.offset;
  return with_signs(memory(s.dtype).as_strided(SymIntList(s.sizes), SymIntList(s.strides), at),
                    s.is_conj, s.is_neg);
}

// The geometry of a view operator's results, computed where no mode sees it.
std::vector<Tensor> models_of(Operator& op, Stack stack, size_t position, const Tensor& source) {
  const ExcludeKeys unwatched(KeySet(Key::Python) | KeySet(Key::TransformFront));
  stack[position] = Value(model_of(source));
  dispatch::call_boxed(op, stack);
  std::vector<Tensor> models;
  for (const Value& v : stack) for_each_tensor(v, [&](const Tensor& t) { models.push_back(t); });
  return models;
}

// Whether copying `b` into `a` gives `b` itself: no conversion and no broadcast is needed.
bool is_like(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.device() == b.device() && a.sym_sizes() == b.sym_sizes();
}

void run_inplace(Operator& op, const Schema& schema, Stack& stack, uint64_t level,
                 bool removes_views) {
  const Tensor self = stack.at(0).get<Tensor>();
  TAEDA_CHECK(dispatch::wrapper_at(self, level),
              "functionalize: the function writes in place (aten::", op.full_name(),
              ") to a tensor that it captured. Pass the tensor as an argument.");
  unwrap_all(stack, level);
  const Tensor before = wrapper(self).value;
  const bool is_whole_copy = is_named(op, "copy_") && is_like(before, stack.at(1).get<Tensor>());
  Operator* functional = is_whole_copy ? nullptr : functional_of(op, schema, false);
  if (!functional) {
    write(self, written_value(op, before, stack));
  } else {
    const bool is_view = !schema_of(*functional).arguments[0].alias.empty();
    const std::vector<Tensor> models =
        is_view ? models_of(*functional, stack, 0, self) : std::vector<Tensor>();
    const Stack args = stack;
    call_view(*functional, stack, is_view && removes_views);
    const Tensor result = stack.at(0).get<Tensor>();
    if (is_view) {  // unsqueeze_ and its like: the tensor looks at its root in another way
      const Tensor turned =
          wrap_view(result, models.at(0), self, {*functional, args, 0, 0}, level, removes_views);
      wrapper(self).state = wrapper(turned).state;
      dispatch::update_wrapper(self, result, -1);
    } else {
      write(self, result);
    }
  }
  stack.assign(1, Value(self));
}

void run_out(Operator& op, const Schema& schema, Stack& stack, uint64_t level) {
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
  unwrap_all(inputs, level);
  dispatch::call_boxed(*functional, inputs);
  stack.clear();
  for (size_t i = 0; i < outs.size(); ++i) {
    TAEDA_CHECK(dispatch::wrapper_at(outs[i], level),
                "functionalize: out= must be a tensor made inside the function, or its argument");
    write(outs[i], inputs.at(i).get<Tensor>());
    stack.push_back(Value(outs[i]));
  }
}

// An operator defined at run time, which has no functional form that we know: it writes to copies,
// and the arguments become those.
void run_on_copies(Operator& op, const Schema& schema, Stack& stack, uint64_t level) {
  struct Copy {
    Tensor argument, value;
  };
  std::vector<Copy> copies;
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!schema.arguments[i].is_written) continue;
    for_each_tensor(stack[i], [&](const Tensor& t) {
      TAEDA_CHECK(dispatch::wrapper_at(t, level), "functionalize: the function writes in place (",
                  op.full_name(),
                  ") to a tensor that it captured. Pass the tensor as an argument.");
      copies.push_back({t, taeda::clone(synced(t))});
    });
  }
  const auto find = [&](const Tensor& t, Tensor Copy::* part) {
    return std::find_if(copies.begin(), copies.end(),
                        [&](const Copy& c) { return (c.*part).is_same(t); });
  };
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    if (const auto copy = find(t, &Copy::argument); copy != copies.end()) return copy->value;
    return dispatch::wrapper_at(t, level) ? synced(t) : t;
  });
  dispatch::call_boxed(op, stack);
  for (const Copy& c : copies) write(c.argument, c.value);
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    const auto copy = find(t, &Copy::value);
    return copy != copies.end() ? copy->argument : wrap_root(t, level);
  });
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

void run_view(Operator& op, size_t position, Stack& stack, uint64_t level, bool removes_views) {
  const Tensor source = stack.at(position).get<Tensor>();
  if (!dispatch::wrapper_at(source, level)) return dispatch::call_boxed(op, stack);
  unwrap_all(stack, level);
  const std::vector<Tensor> models = models_of(op, stack, position, source);
  const Stack args = stack;
  if (removes_views && !has_copying_form(op))
    call_part_by_part(op, stack, position, models.size());
  else
    call_view(op, stack, removes_views);
  size_t at = 0;
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    const size_t i = at++;
    return wrap_view(t, models.at(i), source, {op, args, position, i}, level, removes_views);
  });
}

// Composites whose results are new tensors, and those that only check: their inside may stay
// unknown, unless a tracer asks for it.
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

void run_functionalize(Operator& op, Stack& stack) {
  const Schema& schema = schema_of(op);
  if (op.is_composite && !stays_whole(op, schema)) return dispatch::call_below_front(op, stack);
  const BelowLevel below;
  const uint64_t level = below.level().id;
  const bool removes_views = below.level().removes_views;
  const bool any = dispatch::has_wrapper_at(stack, level);
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const dispatch::Argument& a = schema.arguments[i];
    if (a.is_written && !op.table) return run_on_copies(op, schema, stack, level);
    if (a.is_written)
      return a.is_kwarg_only ? run_out(op, schema, stack, level)
                             : run_inplace(op, schema, stack, level, removes_views);
    if (!a.alias.empty() && any) return run_view(op, i, stack, level, removes_views);
  }
  unwrap_all(stack, level);
  dispatch::call_boxed(op, stack);
  // Factories too: the function may write to the tensors that it makes.
  dispatch::map_tensors(stack, [&](const Tensor& t) { return wrap_root(t, level); });
}

const bool is_registered =
    (dispatch::set_level_handler(dispatch::LevelKind::Functionalize, &run_functionalize), true);

}  // namespace

uint64_t enter_functionalize_level(bool removes_views, bool keeps_composites) {
  Level& level = dispatch::push_level(dispatch::LevelKind::Functionalize);
  level.removes_views = removes_views;
  if (keeps_composites) dispatch::keep_composites(level.id);
  return level.id;
}

void exit_functionalize_level(uint64_t id) { dispatch::pop_level(id); }

Tensor make_functional(const Tensor& value, uint64_t level) { return wrap_root(value, level); }

Tensor functional_value(const Tensor& t, uint64_t level) {
  if (!dispatch::wrapper_at(t, level)) return t;
  if (dispatch::num_levels() > 0 && dispatch::top_level().id == level) {
    const BelowLevel below;
    return synced(t);
  }
  return synced(t);
}

bool is_written(const Tensor& t, uint64_t level) {
  return dispatch::wrapper_at(t, level) && state_of(t).root->generation > 0;
}

}  // namespace taeda::fx
