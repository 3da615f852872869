// What comes from outside of the captured program: signals, whose handlers may raise.
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

bool Capture::check_signals() {
  if (!interruption_ && recorder_.check_signals()) return true;
  if (!interruption_) interruption_ = Owned(taeda_take_raised());
  reason_ = "a signal's handler raised";
  return false;
}

bool Capture::take_interruption_of(const State& state) {
  static const int raises[] = {opcode_number("RAISE_VARARGS"), opcode_number("RERAISE")};
  if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) return false;
  if (state.now->opcode == raises[0] || state.now->opcode == raises[1]) return false;
  interruption_ = Owned(taeda_take_raised());
  reason_ = "an interruption inside of a call";
  return true;
}

}  // namespace taeda::dynamo
