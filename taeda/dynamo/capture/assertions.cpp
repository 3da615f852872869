// Assertions of tensors: checks of the graph where other branches on data are breaks.
//
// `assert x.sum() > 0, text` jumps over what raises. The text is not made: where a check fails the
// program runs by itself, and raises its own error.
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

// Whether a jump must find this truth, because the assertion fails where it does not.
bool Capture::asserts(const State& state, const Instruction& jump, bool truth) {
  static const int fails = opcode_number("LOAD_ASSERTION_ERROR");
  const Instruction& target = state.code->instructions[static_cast<size_t>(jump.target)];
  return (is_jump_if(jump, truth) && (&jump + 1)->opcode == fails) ||
         (is_jump_if(jump, !truth) && target.opcode == fails);
}

// Puts the truth that an assertion needs in the place of a tensor on the stack, with a check in the
// graph.
void Capture::take_assertion(State& state, const Instruction& jump) {
  PyObject*& top = state.peek(1);
  const bool is_true = asserts(state, jump, true);
  if ((!is_true && !asserts(state, jump, false)) || !recorder_.is_tensor_value(top) ||
      recorder_.is_subclass(top) || !recorder_.overrides().modes.empty())
    return;
  static PyObject* const is_wanted = imported("taeda.compiler._capture", "rewrites_assertions");
  static PyObject* const note = imported("taeda.compiler._value_substitutes", "note_assertion");
  Owned none(need(PyTuple_New(0)));
  const Owned wanted(need(recorder_.call_natively(is_wanted, none.get(), nullptr)));
  if (wanted.get() != Py_True) return;
  PyObject* truth = is_true ? Py_True : Py_False;
  const Owned noted(need(PyObject_CallFunctionObjArgs(note, top, truth, nullptr)));
  if (noted.get() == Py_True) Py_SETREF(top, Py_NewRef(truth));
}

Flow Capture::pop_jump(State& state, int argument) {
  PyObject* condition = state.peek(1);
  if (is_opaque(condition))
    throw Break{std::string("an operation on ") + Py_TYPE(condition)->tp_name};
  open(condition);
  take_assertion(state, *state.now);
  return state.now->handler(state, argument);
}

// From 3.13 on the truth is asked before the jump.
Flow Capture::to_bool(State& state, int) {
  PyObject* condition = state.peek(1);
  if (is_opaque(condition))
    throw Break{std::string("an operation on ") + Py_TYPE(condition)->tp_name};
  open(condition);
  take_assertion(state, *state.next);
  const int truth = PyObject_IsTrue(state.peek(1));
  if (truth < 0) return Flow::Raise;
  Py_SETREF(state.peek(1), PyBool_FromLong(truth));
  return Flow::Next;
}

}  // namespace taeda::dynamo
