// The value stack, jumps and loops.
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/messages.h"
#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo::run {

Flow NOP_(State&, int) { return Flow::Next; }

// The low bits say where a function is resumed: at its start, after a yield, in `yield from` or
// `await`; the last two take no interruption.
Flow RESUME_(State& state, int argument) {
  state.checks = (argument & 3) < 2;
  return Flow::Next;
}

Flow POP_TOP_(State& state, int) {
  Py_DECREF(state.pop());
  return Flow::Next;
}

Flow PUSH_NULL_(State& state, int) {
  state.push(nullptr);
  return Flow::Next;
}

Flow COPY_(State& state, int argument) {
  state.push(Py_XNewRef(state.peek(argument)));
  return Flow::Next;
}

Flow SWAP_(State& state, int argument) {
  std::swap(state.peek(1), state.peek(argument));
  return Flow::Next;
}

#if PY_MINOR_VERSION == 12
// The iterator and the value that stopped the loop; only loops over generators come here.
Flow END_FOR_(State& state, int) {
  Py_DECREF(state.pop());
  Py_DECREF(state.pop());
  return Flow::Next;
}
#elif PY_MINOR_VERSION >= 13
Flow END_FOR_(State& state, int) {
  Py_DECREF(state.pop());
  return Flow::Next;
}
#endif

#if PY_MINOR_VERSION >= 12
Flow END_SEND_(State& state, int) {
  PyObject* value = state.pop();
  Py_DECREF(state.pop());
  state.push(value);
  return Flow::Next;
}
#endif

Flow JUMP_FORWARD_(State& state, int) {
  state.jump();
  return Flow::Next;
}

Flow JUMP_BACKWARD_(State& state, int) {
  state.jump();
  state.checks = true;
  return Flow::Next;
}

Flow JUMP_BACKWARD_NO_INTERRUPT_(State& state, int) {
  state.jump();
  return Flow::Next;
}

namespace {

// Pops the condition and jumps where its truth is `wanted`.
Flow pop_jump_if(State& state, bool wanted) {
  Owned value = state.take();
  const int truth = value.get() == Py_True    ? 1
                    : value.get() == Py_False ? 0
                                              : PyObject_IsTrue(value.get());
  if (truth < 0) return Flow::Raise;
  if ((truth != 0) == wanted) state.jump();
  return Flow::Next;
}

Flow pop_jump_if_none(State& state, bool wanted) {
  Owned value = state.take();
  if ((value.get() == Py_None) == wanted) state.jump();
  return Flow::Next;
}

}  // namespace

#if PY_MINOR_VERSION == 11
namespace {

Flow jump_or_pop(State& state, bool wanted) {
  const int truth = PyObject_IsTrue(state.peek(1));
  if (truth < 0) return Flow::Raise;
  if ((truth != 0) == wanted) {
    state.jump();
  } else {
    Py_DECREF(state.pop());
  }
  return Flow::Next;
}

Flow backward(State& state, Flow flow) {
  state.checks = true;
  return flow;
}

}  // namespace

Flow JUMP_IF_FALSE_OR_POP_(State& state, int) { return jump_or_pop(state, false); }
Flow JUMP_IF_TRUE_OR_POP_(State& state, int) { return jump_or_pop(state, true); }
Flow POP_JUMP_FORWARD_IF_FALSE_(State& state, int) { return pop_jump_if(state, false); }
Flow POP_JUMP_FORWARD_IF_TRUE_(State& state, int) { return pop_jump_if(state, true); }
Flow POP_JUMP_FORWARD_IF_NONE_(State& state, int) { return pop_jump_if_none(state, true); }
Flow POP_JUMP_FORWARD_IF_NOT_NONE_(State& state, int) { return pop_jump_if_none(state, false); }
Flow POP_JUMP_BACKWARD_IF_FALSE_(State& state, int) {
  return backward(state, pop_jump_if(state, false));
}
Flow POP_JUMP_BACKWARD_IF_TRUE_(State& state, int) {
  return backward(state, pop_jump_if(state, true));
}
Flow POP_JUMP_BACKWARD_IF_NONE_(State& state, int) {
  return backward(state, pop_jump_if_none(state, true));
}
Flow POP_JUMP_BACKWARD_IF_NOT_NONE_(State& state, int) {
  return backward(state, pop_jump_if_none(state, false));
}
#else
Flow POP_JUMP_IF_FALSE_(State& state, int) { return pop_jump_if(state, false); }
Flow POP_JUMP_IF_TRUE_(State& state, int) { return pop_jump_if(state, true); }
Flow POP_JUMP_IF_NONE_(State& state, int) { return pop_jump_if_none(state, true); }
Flow POP_JUMP_IF_NOT_NONE_(State& state, int) { return pop_jump_if_none(state, false); }
#endif

Flow GET_ITER_(State& state, int) {
  Owned iterable = state.take();
  return state.push_or_raise(PyObject_GetIter(iterable.get()));
}

// At the end of an iterator the loop is left behind its closing instructions: none in 3.11, END_FOR
// in 3.12, END_FOR and POP_TOP in 3.13.
Flow FOR_ITER_(State& state, int) {
  PyObject* iterator = state.peek(1);
  PyObject* value = Py_TYPE(iterator)->tp_iternext(iterator);
  if (value != nullptr) return state.push_or_raise(value);
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return Flow::Raise;
    PyErr_Clear();
  }
  Py_DECREF(state.pop());
  state.jump();
  state.next += PY_MINOR_VERSION - 11;
  return Flow::Next;
}

}  // namespace taeda::dynamo::run
