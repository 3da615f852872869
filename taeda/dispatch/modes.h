// Modes: handlers, pushed on a stack of this thread, that take every operator call below autograd.
//
// Note [Modes]: while the stack is not empty the thread includes the Python key, and what reaches
// that key goes to the innermost mode, taken off the stack while it runs: what it calls itself goes
// to the next mode out, and to the kernels once there is none. A mode sees what remains of a
// program after autograd, autocast, view tracking and function transforms, and none of these acts
// on the calls it makes. Without a mode the key is not included, and calls cost what they did.
#pragma once

#include <vector>

#include "taeda/dispatch/operator.h"

namespace taeda::dispatch {

class TAEDA_API Mode : public RefCounted {
 public:
  // Reads the operator's arguments from the stack and leaves its results there.
  virtual void run(Operator& op, Stack& stack) = 0;

  // The object that stands for it in another language; not owned.
  void* peer = nullptr;
};

using ModeStack = std::vector<IntrusivePtr<Mode>>;

// The modes of this thread, innermost last.
TAEDA_API const ModeStack& modes();
TAEDA_API void push_mode(IntrusivePtr<Mode> mode);
// Takes the innermost mode off; throws when there is none.
TAEDA_API IntrusivePtr<Mode> pop_mode();
// Replaces the whole stack, for a thread that goes on with the work of another.
TAEDA_API void set_modes(ModeStack modes);
// Includes the Python key if and only if a mode is active; for code that swaps the local keys.
TAEDA_API void sync_mode_key();

}  // namespace taeda::dispatch
