// Levels: the function transforms (grad, jvp, vmap) active on this thread, innermost last.
//
// Note [Levels]: while any level is active every operator goes to the TransformFront key first. The
// innermost level takes the call: vmap replaces batched arguments by what they wrap, runs the
// operator's batching rule and wraps the results; grad and jvp let autograd run on their wrappers
// and come back at TransformBack, where the wrappers are taken off. Either way the operator is
// called again on the values inside with that level taken off the stack, so levels compose in any
// order. A wrapper knows its level by number; numbers are never reused, so a wrapper that outlives
// its level is noticed.
#pragma once

#include <vector>

#include "taeda/dispatch/operator.h"

namespace taeda::dispatch {

enum class LevelKind : uint8_t { Grad, Jvp, Vmap, Functionalize };
enum class Randomness : uint8_t { Error, Same, Different };

struct Level {
  uint64_t id = 0;
  LevelKind kind = LevelKind::Grad;
  Randomness randomness = Randomness::Error;
  // The thread's state outside a grad or jvp level; restored while outer levels run.
  bool outer_grad_mode = true;
  bool outer_forward_mode = true;
  bool outer_inference_mode = false;
  bool removes_views = false;  // of a functionalize level
  SymInt batch_size = 0;       // of a vmap level; a symbol where the batch is one
  LocalKeys outer_keys;
};

// The contents of a wrapper tensor, in TensorExtra::wrapper.
class TAEDA_API LevelWrapper final : public RefCounted {
 public:
  LevelWrapper(uint64_t level, Tensor value, int64_t batch_dim)
      : level(level), batch_dim(batch_dim), value(std::move(value)) {}
  const uint64_t level;
  int64_t batch_dim;  // -1: no vmap level
  Tensor value;
  IntrusivePtr<RefCounted> state;  // what a functionalize level knows beside the value

 private:
  void release_resources() override {
    value.reset();
    state.reset();
  }
};

namespace dispatch_detail {
TAEDA_API std::vector<Level>& levels();
}

inline size_t num_levels() { return dispatch_detail::levels().size(); }
inline Level& top_level() { return dispatch_detail::levels().back(); }
// Depth of a level from 1 (outermost), 0 if it is not active. Users see it as the level's number.
TAEDA_API size_t level_depth(uint64_t id);
// Starts a level; the reference holds until the next push.
TAEDA_API Level& push_level(LevelKind kind);
// Ends the innermost level, which must be `id`.
TAEDA_API void pop_level(uint64_t id);

inline const LevelWrapper* wrapper_of(const Tensor& t) {
  if (!t.defined() || !t.keys().has(Key::TransformBack)) return nullptr;
  return static_cast<const LevelWrapper*>(t.impl()->extra_or_null()->wrapper.get());
}
inline const LevelWrapper* wrapper_at(const Tensor& t, uint64_t level) {
  const LevelWrapper* w = wrapper_of(t);
  return w && w->level == level ? w : nullptr;
}
// Whether vmap batches the tensor at any level.
TAEDA_API bool is_batched(const Tensor& t);
// A tensor with the values' logical geometry, its batch dimension hidden.
TAEDA_API Tensor make_wrapper(Tensor value, uint64_t level, int64_t batch_dim = -1);
// Gives an in-place operator's argument its new value.
TAEDA_API void update_wrapper(const Tensor& wrapper, Tensor value, int64_t batch_dim);
// The value of a wrapper whose level is over (grad, jvp); throws for one that vmap made.
TAEDA_API Tensor strip_dead(const Tensor& t);

// The tensor inside the wrappers of grad and jvp levels, down to the values in memory; throws
// PyTorch's error for a tensor that vmap batches, which has no values of its own.
TAEDA_API Tensor plain_value(const Tensor& t);

// Replaces every tensor in a value (lists included) by f(tensor); undefined ones stay.
template <class F>
void map_tensors(Value& v, F&& f) {
  if (v.is<Tensor>()) {
    Tensor& t = v.get<Tensor>();
    if (t.defined()) t = f(t);
  } else if (v.is<std::vector<Tensor>>()) {
    for (Tensor& t : v.get<std::vector<Tensor>>())
      if (t.defined()) t = f(t);
  } else if (v.is<std::shared_ptr<Value::List>>()) {
    // Other values may hold the same list.
    auto list = std::make_shared<Value::List>(*v.get<std::shared_ptr<Value::List>>());
    for (Value& item : *list) map_tensors(item, f);
    v = Value(std::move(list));
  }
}
template <class F>
void map_tensors(Stack& stack, F&& f) {
  for (Value& v : stack) map_tensors(v, f);
}

// Whether any argument on the stack is a wrapper of that level.
TAEDA_API bool has_wrapper_at(const Stack& stack, uint64_t level);

// Takes the innermost level off until the end of the scope.
class TAEDA_API BelowLevel {
 public:
  // `keys`: the thread's local keys in the meantime; the bits for active levels and modes
  // are kept in step.
  explicit BelowLevel(LocalKeys keys);
  BelowLevel() : BelowLevel(local_keys()) {}
  ~BelowLevel();
  BelowLevel(const BelowLevel&) = delete;
  const Level& level() const { return level_; }

 private:
  Level level_;
  LocalKeys saved_;
};

// Takes every level off until the end of the scope.
class TAEDA_API BelowAllLevels {
 public:
  BelowAllLevels();
  ~BelowAllLevels();
  BelowAllLevels(const BelowAllLevels&) = delete;

 private:
  std::vector<Level> levels_;
  LocalKeys saved_;
};

// The rule of a level for calls that reach it: called at TransformFront.
using LevelHandler = void (*)(Operator& op, Stack& stack);
TAEDA_API void set_level_handler(LevelKind kind, LevelHandler handler);

}  // namespace taeda::dispatch
