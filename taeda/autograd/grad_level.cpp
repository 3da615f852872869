// Grad and jvp levels: autograd runs on their wrappers, everything else on what they wrap.
//
// At TransformFront arguments that do not belong to the level are wrapped as constants of it, so
// that whatever an outer level or plain autograd attached to them stays out of sight. Autograd and
// view tracking then run on the wrappers; at TransformBack the wrappers come off, the level is
// taken off the stack and the operator is called again for the levels outside.
#include "taeda/autograd/grad_level.h"

#include "taeda/autograd/forward.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/levels.h"

namespace taeda::autograd {
namespace {

using dispatch::Level;
using dispatch::LevelWrapper;
using dispatch::Operator;
using dispatch::Stack;

constexpr KeySet kOuterKeys =
    KeySet(Key::TransformFront) | KeySet(Key::Conjugate) | KeySet(Key::Negative);

// Sets the thread's keys for the inside of a level, and remembers those of the outside.
class InsideLevel {
 public:
  explicit InsideLevel(Level& level)
      : saved_(local_keys()), outer_(level.outer_keys), id_(level.id) {
    level.outer_keys = saved_;
    local_keys().exclude = saved_.exclude | kOuterKeys;
    local_keys().include = (saved_.include - kOuterKeys) | KeySet(Key::TransformBack);
  }
  ~InsideLevel() {
    local_keys() = saved_;
    Level& top = dispatch::top_level();
    if (top.id == id_) top.outer_keys = outer_;
  }
  InsideLevel(const InsideLevel&) = delete;

 private:
  LocalKeys saved_, outer_;
  uint64_t id_;
};

// The outside of the innermost level: its keys and modes.
class OutsideLevel {
 public:
  OutsideLevel()
      : below_(dispatch::top_level().outer_keys),
        grad_(below_.level().outer_grad_mode),
        forward_(below_.level().outer_forward_mode),
        inference_(below_.level().outer_inference_mode) {}
  uint64_t id() const { return below_.level().id; }

 private:
  dispatch::BelowLevel below_;
  GradMode grad_;
  ForwardMode forward_;
  InferenceMode inference_;
};

void check_written(const Operator& op, const Stack& stack, uint64_t id) {
  const dispatch::Schema schema = dispatch::parse_schema(op.schema);
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!schema.arguments[i].is_written || !stack[i].is<Tensor>()) continue;
    TAEDA_CHECK(dispatch::wrapper_at(stack[i].get<Tensor>(), id),
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
                "call in-place operation (aten::",
                op.full_name(),
                ") that would mutate a captured Tensor. This is not supported; please rewrite the "
                "function being transformed to explicitly accept the mutated Tensor(s) as inputs.");
  }
}

bool writes(const Operator& op) {
  return std::string_view(op.schema).find("!)") != std::string_view::npos;
}

void run_front(Operator& op, Stack& stack) {
  Level& level = dispatch::top_level();
  const uint64_t id = level.id;
  if (!dispatch::has_wrapper_at(stack, id)) {
    const OutsideLevel outside;
    return dispatch::call_boxed(op, stack);
  }
  if (writes(op)) check_written(op, stack, id);
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    return dispatch::wrapper_at(t, id) ? t : wrap_at_level(t, id);
  });
  const InsideLevel inside(level);
  dispatch::call_boxed(op, stack);
}

void run_back(const Operator& op, KeySet, Stack& stack, void*) {
  const uint64_t id = dispatch::top_level().id;
  // Written arguments come back as the wrappers they were.
  SmallVector<Tensor, 2> written;
  const bool is_writing = writes(op);
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    const LevelWrapper* w = dispatch::wrapper_at(t, id);
    if (!w) return t;
    if (is_writing) written.push_back(t);
    return w->value;
  });
  {
    const OutsideLevel outside;
    dispatch::call_boxed(const_cast<Operator&>(op), stack);
  }
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    for (const Tensor& w : written) {
      if (!dispatch::wrapper_of(w)->value.is_same(t)) continue;
      dispatch::update_wrapper(w, t, -1);
      return w;
    }
    return wrap_at_level(t, id);
  });
}

const bool is_grad_level_registered = [] {
  dispatch::set_level_handler(dispatch::LevelKind::Grad, &run_front);
  dispatch::set_level_handler(dispatch::LevelKind::Jvp, &run_front);
  dispatch::set_builtin_fallback(Key::TransformBack, {&run_back, nullptr},
                                 "the outside of a grad or jvp level");
  return true;
}();

uint64_t enter(dispatch::LevelKind kind) {
  Level& level = dispatch::push_level(kind);
  level.outer_grad_mode = grad_enabled();
  level.outer_forward_mode = forward_enabled();
  level.outer_inference_mode = is_inference_mode();
  set_grad_enabled(true);
  set_forward_enabled(true);
  if (level.outer_inference_mode) set_inference_mode(false);
  return level.id;
}

}  // namespace

uint64_t enter_grad_level() { return enter(dispatch::LevelKind::Grad); }
uint64_t enter_jvp_level() { return enter(dispatch::LevelKind::Jvp); }

void exit_level(uint64_t id) {
  const Level level = dispatch::top_level();
  dispatch::pop_level(id);
  set_grad_enabled(level.outer_grad_mode);
  set_forward_enabled(level.outer_forward_mode);
  if (level.outer_inference_mode) set_inference_mode(true);
}

Tensor wrap_at_level(const Tensor& value, uint64_t id) {
  Tensor t = dispatch::make_wrapper(value, id);
  if (t.is_inference()) t.impl()->set_keys(t.keys() | KeySet(Key::ADInplaceOrView));
  return t;
}

void check_outside_levels(const char* method) {
  TAEDA_CHECK(
      dispatch::num_levels() == 0, "You are attempting to call Tensor.", method,
      "() (or perhaps using torch.autograd.functional.* APIs) inside of a function being "
      "transformed by a functorch transform. This is unsupported, please attempt to use the "
      "functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call ",
      method, "() outside of a function being transformed instead.");
}

}  // namespace taeda::autograd
