// Keeps a value for each tensor of a program.
#include "taeda/fx/functional_mode.h"

#include <algorithm>

#include "taeda/core/unbacked.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/levels.h"
#include "taeda/fx/bind.h"
#include "taeda/ops/operators.h"
#include "taeda/ops/view/gradients.h"

namespace taeda::fx {

using dispatch::Operator;
using dispatch::Stack;

namespace {

// Older than every write.
constexpr uint64_t kNever = ~uint64_t{0};

std::vector<SymInt> listed(SymIntList list) { return {list.begin(), list.end()}; }

}  // namespace

// ---- tensors and their values ----

void FunctionalMode::note(const Tensor& t, IntrusivePtr<FunctionalState> state) {
  const StorageImpl* memory = t.storage().get();
  KnownMemory& known = memories_[memory];
  if (known.key.lock().get() != memory)
    known = {WeakPtr<StorageImpl>(t.storage()), state, t.impl()->sym_storage_offset()};
  tensors_[t.impl()] = {WeakPtr<TensorImpl>(t.impl_ptr()), memory, std::move(state)};
}

void FunctionalMode::add(const Tensor& tensor, Tensor value) {
  auto state = FunctionalState::of_root(std::move(value));
  state->root->is_outside = true;
  // Several that stand for one tensor have its memory, each with a value of its own; the program
  // sees the last one.
  memories_[tensor.storage().get()] = {WeakPtr<StorageImpl>(tensor.storage()), state,
                                       tensor.impl()->sym_storage_offset()};
  note(tensor, std::move(state));
}

bool FunctionalMode::is_written(const Tensor& tensor) {
  const FunctionalState* state = find(tensor);
  return state && state->root->generation > 0;
}

// A tensor that was made without an operator, on memory that is known.
IntrusivePtr<FunctionalState> FunctionalMode::state_by_memory(const Tensor& t,
                                                              const KnownMemory& memory) {
  const FunctionalState& source = *memory.state;
  const SymInt start = t.impl()->sym_storage_offset() - memory.offset +
                       source.root->value.impl()->sym_storage_offset();
  const ViewStep step(ops::as_strided,
                      {Value(source.root->value), Value(listed(t.sym_sizes())),
                       Value(listed(t.sym_strides())), Value(start)},
                      0, 0);
  auto state = FunctionalState::of_view(Tensor(), t, memory.offset, source, step, source.copies);
  state->seen = kNever;
  return state;
}

FunctionalState* FunctionalMode::find(const Tensor& t) {
  const StorageImpl* memory = t.storage().get();
  const auto it = tensors_.find(t.impl());
  if (it != tensors_.end() && it->second.key.lock() && it->second.memory == memory)
    return it->second.state.get();
  if (t.impl()->is_wrapped_number()) return nullptr;
  const auto known = memories_.find(memory);
  const bool is_known = known != memories_.end() && known->second.key.lock();
  // What nothing is known of is a constant of the program.
  note(t, is_known ? state_by_memory(t, known->second) : FunctionalState::of_root(t));
  return tensors_.at(t.impl()).state.get();
}

// The program may name places of its storage: what as_strided_scatter gives begins where its
// argument does.
Tensor FunctionalMode::make_like(const Tensor& value) {
  const SymInt& start = value.impl()->sym_storage_offset();
  const Value sizes(listed(value.sym_sizes())), strides(listed(value.sym_strides()));
  const auto empty = [&](Value size, Value stride) {
    Stack stack{std::move(size), std::move(stride),     Value(value.dtype()),
                Value(),         Value(value.device()), Value()};
    run_fake(ops::empty_strided, stack);
    return stack.at(0);
  };
  if (is_known(SymOp::Eq, start, 0)) return empty(sizes, strides).get<Tensor>();
  const std::vector<SymInt> step{SymInt(1)},
      memory{gradients::storage_reach(value.sym_sizes(), value.sym_strides(), start)};
  Stack look{empty(Value(memory), Value(step)), sizes, strides, Value(start)};
  run_fake(ops::as_strided, look);
  return look.at(0).get<Tensor>();
}

Tensor FunctionalMode::make(IntrusivePtr<FunctionalState> state, const Tensor* seen) {
  Tensor t = seen ? *seen : make_like(state->value);
  note(t, std::move(state));
  return t;
}

void FunctionalMode::replace(const Tensor& t, IntrusivePtr<FunctionalState> state) {
  if (!state->is_view) memories_.erase(t.storage().get());
  note(t, std::move(state));
}

bool FunctionalMode::is_alone(const Tensor& t, const FunctionalState& state) {
  return std::none_of(tensors_.begin(), tensors_.end(), [&](const auto& entry) {
    const Known& known = entry.second;
    return known.state->root == state.root && entry.first != t.impl() && known.key.lock();
  });
}

// ---- calls ----

// Runs an operator on the program's tensors, which no other mode sees.
void FunctionalMode::run_fake(Operator& op, Stack& stack) {
  const ExcludeKeys unseen(KeySet(Key::TransformFront));
  fake_mode_->run(op, stack);
}

std::vector<Tensor> FunctionalMode::looks(Operator& op, const Stack& program, const Stack&,
                                          size_t) {
  Stack stack = program;
  run_fake(op, stack);
  std::vector<Tensor> found;
  for (const Value& v : stack) for_each_tensor(v, [&](const Tensor& t) { found.push_back(t); });
  return found;
}

// Memory that is known was first seen as its root lies there.
SymInt FunctionalMode::start_of(const Tensor& t, const FunctionalState& state) {
  const auto it = memories_.find(t.storage().get());
  const bool is_known = it != memories_.end() && it->second.state->root == state.root;
  return is_known ? it->second.offset : FunctionalCalls::start_of(t, state);
}

Tensor FunctionalMode::look_in_place(Operator& op, Operator&, const Stack& program, const Stack&) {
  Stack stack = program;
  run_fake(op, stack);
  return program[0].get<Tensor>();
}

bool FunctionalMode::leaves_out_identity(const Operator& op) const {
  return !is_before_autograd && !(is_running && &op == &ops::alias);
}

void FunctionalMode::run(Operator& op, Stack& stack) {
  if (decompose) {
    const dispatch::ActiveMode active(*this);
    if (decompose(op, stack)) return;
  }
  if (rewrite_regions) rewrite_regions(op, stack);
  FunctionalCalls::run(op, stack);
}

bool FunctionalMode::offer_early(Operator& op, Stack& stack) {
  if (op.is_composite && !stays_whole(op, schema_of(op))) return false;
  return offer(op, stack);
}

}  // namespace taeda::fx
