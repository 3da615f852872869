// The functionalize level: wrappers stand for the tensors of a program.
#include "taeda/fx/functionalize.h"

#include "taeda/dispatch/composites.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/functional_calls.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

using dispatch::BelowLevel;
using dispatch::Level;
using dispatch::LevelWrapper;
using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;

LevelWrapper& wrapper(const Tensor& t) {
  return const_cast<LevelWrapper&>(*dispatch::wrapper_of(t));
}
FunctionalState& state_of(const Tensor& t) {
  TAEDA_CHECK(wrapper(t).state,
              "functionalize: a tensor comes from an operator that functionalize does not support, "
              "such as control flow");
  return static_cast<FunctionalState&>(*wrapper(t).state);
}

// The same memory, with the conjugate and negative flags set or cleared.
Tensor with_signs(Tensor t, bool is_conj, bool is_neg) {
  if (t.is_conj() != is_conj) t = taeda::_conj(t);
  if (t.is_neg() != is_neg) t = taeda::_neg_view(t);
  return t;
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

// Calls on the wrappers of one level, from below it.
class LevelCalls final : public FunctionalCalls {
 public:
  LevelCalls(uint64_t level, bool removes_views) : FunctionalCalls(removes_views), level_(level) {}

 protected:
  FunctionalState* find(const Tensor& t) override {
    return dispatch::wrapper_at(t, level_) ? &state_of(t) : nullptr;
  }
  Tensor make(IntrusivePtr<FunctionalState> state, const Tensor*) override {
    Tensor t = dispatch::make_wrapper(state->value, level_);
    wrapper(t).state = std::move(state);
    return t;
  }
  void replace(const Tensor& t, IntrusivePtr<FunctionalState> state) override {
    dispatch::update_wrapper(t, state->value, -1);
    wrapper(t).state = std::move(state);
  }
  void value_changed(const Tensor& t, const FunctionalState& state) override {
    dispatch::update_wrapper(t, state.value, -1);
  }

  // The geometry of a view operator's results, computed where no mode sees it.
  std::vector<Tensor> looks(Operator& op, const Stack& program, const Stack& values,
                            size_t position) override {
    const ExcludeKeys unwatched(KeySet(Key::Python) | KeySet(Key::TransformFront));
    Stack stack = values;
    stack[position] = Value(model_of(program[position].get<Tensor>()));
    dispatch::call_boxed(op, stack);
    std::vector<Tensor> models;
    for (const Value& v : stack) for_each_tensor(v, [&](const Tensor& t) { models.push_back(t); });
    return models;
  }
  Tensor look_in_place(Operator&, Operator& functional, const Stack& program,
                       const Stack& values) override {
    return looks(functional, program, values, 0).at(0);
  }

 private:
  uint64_t level_;
};

void run_functionalize(Operator& op, Stack& stack) {
  if (op.is_composite && !stays_whole(op, schema_of(op)))
    return dispatch::call_below_front(op, stack);
  const BelowLevel below;
  LevelCalls(below.level().id, below.level().removes_views).run(op, stack);
}

const bool is_functionalize_registered =
    (dispatch::set_level_handler(dispatch::LevelKind::Functionalize, &run_functionalize), true);

}  // namespace

uint64_t enter_functionalize_level(bool removes_views, bool keeps_composites) {
  Level& level = dispatch::push_level(dispatch::LevelKind::Functionalize);
  level.removes_views = removes_views;
  if (keeps_composites) dispatch::keep_composites(level.id);
  return level.id;
}

void exit_functionalize_level(uint64_t id) { dispatch::pop_level(id); }

Tensor make_functional(const Tensor& value, uint64_t level) {
  Tensor t = dispatch::make_wrapper(value, level);
  wrapper(t).state = FunctionalState::of_root(value);
  return t;
}

Tensor functional_value(const Tensor& t, uint64_t level) {
  if (!dispatch::wrapper_at(t, level)) return t;
  LevelCalls calls(level, false);
  if (dispatch::num_levels() > 0 && dispatch::top_level().id == level) {
    const BelowLevel below;
    return calls.value_of(t);
  }
  return calls.value_of(t);
}

bool is_written(const Tensor& t, uint64_t level) {
  return dispatch::wrapper_at(t, level) && state_of(t).root->generation > 0;
}

}  // namespace taeda::fx
