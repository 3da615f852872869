// Assertions of tensors: checks of the graph where other branches on data are breaks.
//
// `assert x.sum() > 0, text` jumps over what raises. Where a check fails the program runs by itself
// and raises its own error (Note [Failed regions]); the function of a program's own backend raises
// one of the same text.
#include <algorithm>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

bool is_jump_if(const Instruction& at, bool truth) {
  static const int if_true[] = {opcode_number("POP_JUMP_IF_TRUE"),
                                opcode_number("POP_JUMP_FORWARD_IF_TRUE")};
  static const int if_false[] = {opcode_number("POP_JUMP_IF_FALSE"),
                                 opcode_number("POP_JUMP_FORWARD_IF_FALSE")};
  const int* known = truth ? if_true : if_false;
  return at.opcode == known[0] || at.opcode == known[1];
}

}  // namespace

// The instruction behind which an assertion fails, where a jump does not find this truth; null for
// other jumps.
const Instruction* Capture::fails_unless(const State& state, const Instruction& jump, bool truth) {
  static const int fails = opcode_number("LOAD_ASSERTION_ERROR");
  const Instruction* next = &jump + 1;
  const Instruction* target = &state.code->instructions[static_cast<size_t>(jump.target)];
  if (is_jump_if(jump, truth) && next->opcode == fails) return next;
  return is_jump_if(jump, !truth) && target->opcode == fails ? target : nullptr;
}

// What the error is made of: a tuple, or None where that is computed when it is raised.
static Owned arguments_of_error(const State& state, const Instruction* at) {
  static const int load = opcode_number("LOAD_CONST"), precall = opcode_number("PRECALL");
  static const int call = opcode_number("CALL"), raise = opcode_number("RAISE_VARARGS");
  if ((++at)->opcode == raise) return Owned(need(PyTuple_New(0)));
  if (at->opcode != load) return Owned(Py_NewRef(Py_None));
  PyObject* text = state.constant(at->argument);
  while ((++at)->opcode == precall || at->opcode == call) continue;
  const bool is_known = at->opcode == raise && PyUnicode_CheckExact(text);
  return Owned(is_known ? need(PyTuple_Pack(1, text)) : Py_NewRef(Py_None));
}

// Whether a frame of the capture handles what is raised now.
bool Capture::has_handler() const {
  return std::any_of(frames_.begin(), frames_.end(), [](const auto& entry) {
    const Code* code = decoded(taeda_frame_code(entry.first));
    if (code == nullptr) throw Raised{};
    return code->handler_of(taeda_frame_at(entry.first)) != nullptr;
  });
}

// Puts the truth that an assertion needs in the place of a tensor on the stack, with a check in the
// graph. An error that is not known by then is the program's own where it runs again.
void Capture::take_assertion(State& state, const Instruction& jump) {
  PyObject*& top = state.peek(1);
  const Instruction* at = fails_unless(state, jump, true);
  PyObject* truth = at != nullptr ? Py_True : Py_False;
  if (at == nullptr) at = fails_unless(state, jump, false);
  if (at == nullptr || !recorder_.is_tensor_value(top) || recorder_.is_subclass(top) ||
      !recorder_.overrides().modes.empty())
    return;
  // What is rehearsed is called by the graph as it is, and asks again.
  if (recorder_.num_levels() > 0 || recorder_.is_in_rehearsal()) return;
  const Owned error = arguments_of_error(state, at);
  // An error of a backend of the program passes the handlers of the program, and its writes are
  // lost. A program that need not be one graph has a break where it would see that.
  const bool is_seen = error.get() == Py_None || has_handler() || recorder_.writes_inputs() ||
                       !pending_writes().empty();
  if (is_seen && !is_whole_) return;
  static PyObject* const is_wanted = imported("taeda.compiler._capture", "rewrites_assertions");
  static PyObject* const note = imported("taeda.compiler._value_substitutes", "note_assertion");
  Owned none(need(PyTuple_New(0)));
  const Owned wanted(need(recorder_.call_natively(is_wanted, none.get(), nullptr)));
  if (wanted.get() != Py_True) return;
  keep(error.get());
  const Owned noted(need(PyObject_CallFunctionObjArgs(note, top, truth, error.get(), nullptr)));
  if (noted.get() == Py_True) Py_SETREF(top, Py_NewRef(truth));
}

// Before the truth of what a jump asks for is read.
void Capture::take_condition(State& state, const Instruction& jump) {
  PyObject* condition = state.peek(1);
  if (is_opaque(condition))
    throw Break{std::string("an operation on ") + Py_TYPE(condition)->tp_name};
  open(condition);
  take_assertion(state, jump);
}

Flow Capture::pop_jump(State& state, int argument) {
  take_condition(state, *state.now);
  return state.now->handler(state, argument);
}

// From 3.13 on the truth is asked before the jump.
Flow Capture::to_bool(State& state, int) {
  take_condition(state, *state.next);
  const int truth = PyObject_IsTrue(state.peek(1));
  if (truth < 0) return Flow::Raise;
  Py_SETREF(state.peek(1), PyBool_FromLong(truth));
  return Flow::Next;
}

}  // namespace taeda::dynamo
