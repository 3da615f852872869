// The stack of modes, and the fallback that hands calls to its top.
#include "taeda/dispatch/modes.h"

#include "taeda/dispatch/dispatcher.h"

namespace taeda::dispatch {
namespace {

// What has acted before a mode sees a call, and does not act again on what the mode calls.
constexpr KeySet kDone =
    KeySet(Key::Autocast) | KeySet(Key::Autograd) | KeySet(Key::ADInplaceOrView);

ModeStack& stack_of_modes() {
  static thread_local ModeStack stack;
  return stack;
}

// Takes the innermost mode off until the end of the scope.
class BelowMode {
 public:
  BelowMode() : saved_(local_keys()), mode_(pop_mode()) {
    local_keys().exclude = saved_.exclude | kDone;
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

void run_innermost(const Operator& op, KeySet keys, Stack& stack, void*) {
  Operator& callee = const_cast<Operator&>(op);
  // Wrappers of a grad or jvp level come off first: the operator is then called again on the values
  // inside, and that call comes here.
  if (modes().empty() || keys.has(Key::TransformBack))
    return callee.call_boxed(callee, keys & KeySet::below(Key::Python), stack);
  BelowMode scope;
  scope.mode().run(callee, stack);
}

const bool is_registered = [] {
  set_builtin_fallback(Key::Python, {&run_innermost, nullptr}, "the innermost mode");
  return true;
}();

}  // namespace

const ModeStack& modes() { return stack_of_modes(); }

void sync_mode_key() {
  LocalKeys& keys = local_keys();
  keys.include =
      modes().empty() ? keys.include - KeySet(Key::Python) : keys.include | KeySet(Key::Python);
}

void push_mode(IntrusivePtr<Mode> mode) {
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

void set_modes(ModeStack modes) {
  stack_of_modes() = std::move(modes);
  sync_mode_key();
}

}  // namespace taeda::dispatch
