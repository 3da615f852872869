// Handlers that take operator calls below autograd: modes, pushed on a stack of this thread, and
// the classes of tensors.
//
// Note [Modes]: while the stack is not empty the thread includes the Python key, and what reaches
// that key goes to the innermost mode, taken off the stack while it runs: what it calls itself goes
// to the next mode out, and to the kernels once there is none. A mode sees what remains of a
// program after autograd, autocast, view tracking and function transforms, and none of these acts
// on the calls it makes. Without a mode the key is not included, and calls cost what they did.
//
// Note [Subclasses]: a tensor whose class in the host language has a handler carries the Python
// key. A call with such an argument that no mode takes goes to the classes of its arguments, with
// the modes on that declined. Such a tensor may have no memory at all (a wrapper: its storage is
// one of the meta device, TensorExtra::fake_device says what it stands for); the key in its set is
// what keeps kernels away from it.
//
// Note [Modes before autograd]: while such a mode is on the stack, calls stop at TransformFront and
// go, once no level is left, to the innermost mode there: with autograd, autocast and the bodies of
// composite operators still to come. A call that it declines goes on as if the mode was none of
// these.
#pragma once

#include <vector>

#include "taeda/dispatch/operator.h"

namespace taeda::dispatch {

class TAEDA_API Mode : public RefCounted {
 public:
  // Reads the operator's arguments from the stack and leaves its results there.
  virtual void run(Operator& op, Stack& stack) = 0;
  // The same for a mode that may decline: false leaves the stack alone, and the classes of the
  // arguments are asked. By default a mode declines where there are such classes, and sees the
  // calls that they make.
  virtual bool offer(Operator& op, Stack& stack);
  // The same for a call that stopped at TransformFront (Note [Modes before autograd]).
  virtual bool offer_early(Operator& op, Stack& stack) { return offer(op, stack); }

  // Whether it is one of Note [Modes before autograd]; set before it is pushed.
  bool is_before_autograd = false;

  // The object that stands for it in another language; not owned.
  void* peer = nullptr;
};

using ModeStack = std::vector<IntrusivePtr<Mode>>;

// The modes of this thread, innermost last.
TAEDA_API const ModeStack& modes();
TAEDA_API void push_mode(IntrusivePtr<Mode> mode);
// Takes the innermost mode off; throws when there is none.
TAEDA_API IntrusivePtr<Mode> pop_mode();
// The mode is active until the end of the scope.
class ActiveMode {
 public:
  explicit ActiveMode(Mode& mode) { push_mode(IntrusivePtr<Mode>::share(&mode)); }
  ~ActiveMode() { pop_mode(); }
  ActiveMode(const ActiveMode&) = delete;
};
// Replaces the whole stack, for a thread that goes on with the work of another.
TAEDA_API void set_modes(ModeStack modes);
// Includes the Python key if and only if a mode is active; for code that swaps the local keys.
TAEDA_API void sync_mode_key();
// Includes the TransformFront key if and only if a level or a mode before autograd is active.
TAEDA_API void sync_front_key();
TAEDA_API bool has_mode_before_autograd();
// Whether the innermost mode took a call that stopped at TransformFront.
bool offer_before_autograd(Operator& op, Stack& stack);

// Asks the classes of the arguments; `declined` is the mode that did, or null.
using SubclassHandler = void (*)(Operator& op, Stack& stack, Mode* declined);
TAEDA_API void set_subclass_handler(SubclassHandler handler);

// Offers a composite operator to the innermost mode as if it were none; false where there is no
// mode, or it declined.
TAEDA_API bool offer_whole(Operator& op, Stack& stack);

// Whether modes and classes are asked on this thread; the previous state comes back. While they
// are not, tensors of such classes are what their memory says, and those without are refused.
TAEDA_API bool set_python_key_enabled(bool enabled);

// Whether the tensor is a wrapper in the sense of Note [Subclasses].
TAEDA_API bool has_no_memory(const Tensor& t);

// The keys that have acted before a handler sees a call. They do not act on the handler's own
// calls.
constexpr KeySet kAboveHandlers =
    KeySet(Key::Autocast) | KeySet(Key::Autograd) | KeySet(Key::ADInplaceOrView);

}  // namespace taeda::dispatch
