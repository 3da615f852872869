// Generators, coroutines and asynchronous iteration.
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo::run {

Flow YIELD_VALUE_(State& state, int) {
  state.result = state.pop();
  return Flow::Yield;
}

// Sends a value on to the iterator below it. When that one is finished, 3.11 puts its result in its
// place, later versions above it for END_SEND.
Flow SEND_(State& state, int) {
  PyObject* receiver = state.peek(2);
  PyObject* result = nullptr;
  const PySendResult status = PyIter_Send(receiver, state.peek(1), &result);
  if (status == PYGEN_ERROR) return Flow::Raise;
  Py_DECREF(state.pop());
  if (status == PYGEN_RETURN) {
    state.jump();
#if PY_MINOR_VERSION == 11
    Py_DECREF(state.pop());
#endif
  }
  state.push(result);
  return Flow::Next;
}

Flow GET_YIELD_FROM_ITER_(State& state, int) {
  PyObject* iterable = state.peek(1);
  if (PyCoro_CheckExact(iterable)) {
    if (state.code->object->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)) return Flow::Next;
    PyErr_SetString(PyExc_TypeError,
                    "cannot 'yield from' a coroutine object in a non-coroutine generator");
    return Flow::Raise;
  }
  if (PyGen_CheckExact(iterable)) return Flow::Next;
  Owned taken = state.take();
  return state.push_or_raise(PyObject_GetIter(taken.get()));
}

#if PY_MINOR_VERSION >= 12
// The end of a throw() into what `yield from` delegates to: StopIteration carries its result.
Flow CLEANUP_THROW_(State& state, int) {
  PyObject* exception = state.peek(1);
  if (!PyErr_GivenExceptionMatches(exception, PyExc_StopIteration)) {
    taeda_set_raised(Py_NewRef(exception));
    return Flow::Reraise;
  }
  PyObject* value = Py_NewRef(reinterpret_cast<PyStopIterationObject*>(exception)->value);
  for (int i = 0; i < 3; ++i) Py_DECREF(state.pop());
  state.push(Py_NewRef(Py_None));
  state.push(value);
  return Flow::Next;
}
#endif

Flow END_ASYNC_FOR_(State& state, int) {
  PyObject* exception = state.peek(1);
  if (!PyErr_GivenExceptionMatches(exception, PyExc_StopAsyncIteration)) {
    taeda_set_raised(Py_NewRef(exception));
    return Flow::Reraise;
  }
  Py_DECREF(state.pop());
  Py_DECREF(state.pop());
  return Flow::Next;
}

}  // namespace taeda::dynamo::run
