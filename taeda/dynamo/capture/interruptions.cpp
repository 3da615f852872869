// What comes from outside of the captured program: signals, whose handlers may raise, and errors of
// the capture's own.
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

bool is_lack_of_room(PyObject* exception) {
  return PyErr_GivenExceptionMatches(exception, PyExc_MemoryError) ||
         PyErr_GivenExceptionMatches(exception, PyExc_RecursionError);
}

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

// The exception at hand is the capture's own. Most are a part of a program that it does not know.
void Capture::take_own_error() {
  Owned raised(taeda_take_raised());
  if (is_lack_of_room(raised.get()))
    lacks_room_ = true;
  else if (!PyErr_GivenExceptionMatches(raised.get(), PyExc_Exception))
    failure_ = std::move(raised);
}

}  // namespace taeda::dynamo
