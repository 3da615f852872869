// The stack of modes, and the fallback that hands calls to its top or to the classes of tensors.
#include "taeda/dispatch/modes.h"

#include <algorithm>
#include <utility>

#include "taeda/dispatch/composites.h"
#include "taeda/dispatch/dispatcher.h"

namespace taeda::dispatch {
namespace {

SubclassHandler subclass_handler = nullptr;
thread_local constinit bool is_key_enabled = true;

ModeStack& stack_of_modes() {
  static thread_local ModeStack stack;
  return stack;
}

// Until the end of the scope takes the innermost mode off the stack, and excludes keys that have
// acted already.
class BelowMode {
 public:
  explicit BelowMode(KeySet done) : saved_(local_keys()), mode_(pop_mode()) {
    local_keys().exclude = saved_.exclude | done;
  }
  ~BelowMode() {
    stack_of_modes().push_back(std::move(mode_));
    local_keys() = saved_;
  }
  BelowMode(const BelowMode&) = delete;
  Mode& mode() { return *mode_; }

 private:
  LocalKeys saved_;
  IntrusivePtr<Mode> mode_;
};

template <class Test>
bool any_tensor(const Stack& stack, Test&& test) {
  bool found = false;
  for (const Value& v : stack) for_each_tensor(v, [&](const Tensor& t) { found |= test(t); });
  return found;
}

bool has_handler(const Tensor& t) { return t.keys().has(Key::Python); }

void check_memory(const Stack& stack) {
  TAEDA_CHECK(
      !any_tensor(stack, [](const Tensor& t) { return has_handler(t) && has_no_memory(t); }),
      "Cannot access data pointer of Tensor that doesn't have storage: it is a wrapper "
      "subclass, and dispatch to its class is switched off");
}

// Whether the innermost mode took the call.
bool offer_to_innermost(Operator& op, Stack& stack) {
  BelowMode scope(kAboveHandlers);
  return scope.mode().offer(op, stack);
}

void run_handlers(const Operator& op, KeySet keys, Stack& stack, void*) {
  Operator& callee = const_cast<Operator&>(op);
  const auto go_on = [&] { callee.call_boxed(callee, keys & KeySet::below(Key::Python), stack); };
  // Wrappers of a grad or jvp level come off first: the operator is then called again on the values
  // inside, and that call comes here.
  if (keys.has(Key::TransformBack)) return go_on();
  if (!is_key_enabled) {
    check_memory(stack);
    return go_on();
  }
  IntrusivePtr<Mode> declined;
  if (!modes().empty()) {
    declined = modes().back();
    if (offer_to_innermost(callee, stack)) return;
  } else if (!any_tensor(stack, has_handler)) {
    return go_on();
  }
  TAEDA_INTERNAL_CHECK(subclass_handler, "nobody asks the classes of tensors");
  const ExcludeKeys below(kAboveHandlers);
  subclass_handler(callee, stack, declined.get());
}

const bool is_modes_fallback_registered = [] {
  set_builtin_fallback(Key::Python, {&run_handlers, nullptr},
                       "the innermost mode, or the classes of the arguments");
  return true;
}();

}  // namespace

bool Mode::offer(Operator& op, Stack& stack) {
  if (any_tensor(stack, has_handler)) return false;
  run(op, stack);
  return true;
}

bool offer_whole(Operator& op, Stack& stack) {
  const bool is_asked = is_key_enabled && !local_keys().exclude.has(Key::Python);
  return is_asked && !modes().empty() && offer_to_innermost(op, stack);
}

const ModeStack& modes() { return stack_of_modes(); }

void sync_mode_key() {
  LocalKeys& keys = local_keys();
  keys.include =
      modes().empty() ? keys.include - KeySet(Key::Python) : keys.include | KeySet(Key::Python);
  sync_front_key();
}

bool has_mode_before_autograd() {
  return std::any_of(modes().begin(), modes().end(),
                     [](const IntrusivePtr<Mode>& m) { return m->is_before_autograd; });
}

bool offer_before_autograd(Operator& op, Stack& stack) {
  BelowMode scope{KeySet()};
  return scope.mode().offer_early(op, stack);
}

void push_mode(IntrusivePtr<Mode> mode) {
  if (mode->is_before_autograd) show_composites();
  stack_of_modes().push_back(std::move(mode));
  sync_mode_key();
}

IntrusivePtr<Mode> pop_mode() {
  ModeStack& stack = stack_of_modes();
  TAEDA_CHECK(!stack.empty(), "trying to pop from empty mode stack");
  IntrusivePtr<Mode> mode = std::move(stack.back());
  stack.pop_back();
  sync_mode_key();
  return mode;
}

void set_subclass_handler(SubclassHandler handler) { subclass_handler = handler; }

bool set_python_key_enabled(bool enabled) { return std::exchange(is_key_enabled, enabled); }

// A fake tensor that goes to a handler stands for a wrapper.
bool has_no_memory(const Tensor& t) {
  constexpr KeySet fake_wrapper = KeySet(Key::Python) | KeySet(Key::Fake);
  return t.storage()->device().is_meta() &&
         (!t.is_meta() || (t.keys() & fake_wrapper) == fake_wrapper);
}

void set_modes(ModeStack modes) {
  stack_of_modes() = std::move(modes);
  if (has_mode_before_autograd()) show_composites();
  sync_mode_key();
}

}  // namespace taeda::dispatch
