// Locals, cells and constants.
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/messages.h"
#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo::run {

Flow LOAD_CONST_(State& state, int argument) {
  state.push(Py_NewRef(state.constant(argument)));
  return Flow::Next;
}

namespace {

Flow load_local(State& state, int slot) {
  PyObject* value = state.slots[slot];
  if (value == nullptr) return raise_unbound(state, slot);
  state.push(Py_NewRef(value));
  return Flow::Next;
}

void store_local(State& state, int slot) {
  PyObject* old = state.slots[slot];
  state.slots[slot] = state.pop();
  Py_XDECREF(old);
}

}  // namespace

Flow LOAD_FAST_(State& state, int argument) { return load_local(state, argument); }

Flow STORE_FAST_(State& state, int argument) {
  store_local(state, argument);
  return Flow::Next;
}

Flow DELETE_FAST_(State& state, int argument) {
  if (state.slots[argument] == nullptr) return raise_unbound(state, argument);
  Py_CLEAR(state.slots[argument]);
  return Flow::Next;
}

#if PY_MINOR_VERSION >= 12
Flow LOAD_FAST_CHECK_(State& state, int argument) { return load_local(state, argument); }

Flow LOAD_FAST_AND_CLEAR_(State& state, int argument) {
  state.push(state.slots[argument]);
  state.slots[argument] = nullptr;
  return Flow::Next;
}
#else
Flow LOAD_CLASSDEREF_(State& state, int argument) {
  PyObject* name = PyTuple_GET_ITEM(state.code->object->co_localsplusnames, argument);
  PyObject* value = nullptr;
  if (find_item(taeda_frame_namespace(state.frame), name, &value) < 0) return Flow::Raise;
  if (value == nullptr) value = PyCell_Get(state.slots[argument]);
  if (value == nullptr) return raise_unbound(state, argument);
  state.push(value);
  return Flow::Next;
}
#endif

#if PY_MINOR_VERSION >= 13
Flow LOAD_FAST_LOAD_FAST_(State& state, int argument) {
  state.push(Py_NewRef(state.slots[argument >> 4]));
  state.push(Py_NewRef(state.slots[argument & 15]));
  return Flow::Next;
}

Flow STORE_FAST_LOAD_FAST_(State& state, int argument) {
  store_local(state, argument >> 4);
  state.push(Py_NewRef(state.slots[argument & 15]));
  return Flow::Next;
}

Flow STORE_FAST_STORE_FAST_(State& state, int argument) {
  store_local(state, argument >> 4);
  store_local(state, argument & 15);
  return Flow::Next;
}
#else
Flow LOAD_CLOSURE_(State& state, int argument) { return load_local(state, argument); }
#endif

Flow MAKE_CELL_(State& state, int argument) {
  PyObject* cell = PyCell_New(state.slots[argument]);
  if (cell == nullptr) return Flow::Raise;
  Py_XSETREF(state.slots[argument], cell);
  return Flow::Next;
}

Flow COPY_FREE_VARS_(State& state, int argument) {
  PyObject* closure = taeda_frame_function(state.frame)->func_closure;
  PyObject** free = state.stack_base() - argument;
  for (int i = 0; i < argument; ++i) free[i] = Py_NewRef(PyTuple_GET_ITEM(closure, i));
  return Flow::Next;
}

Flow LOAD_DEREF_(State& state, int argument) {
  PyObject* value = PyCell_Get(state.slots[argument]);
  if (value == nullptr) return raise_unbound(state, argument);
  state.push(value);
  return Flow::Next;
}

Flow STORE_DEREF_(State& state, int argument) {
  PyObject* cell = state.slots[argument];
  PyObject* old = PyCell_GET(cell);
  PyCell_SET(cell, state.pop());
  Py_XDECREF(old);
  return Flow::Next;
}

Flow DELETE_DEREF_(State& state, int argument) {
  PyObject* cell = state.slots[argument];
  PyObject* old = PyCell_GET(cell);
  if (old == nullptr) return raise_unbound(state, argument);
  PyCell_SET(cell, nullptr);
  Py_DECREF(old);
  return Flow::Next;
}

#if PY_MINOR_VERSION >= 12
Flow LOAD_FROM_DICT_OR_DEREF_(State& state, int argument) {
  PyObject* name = PyTuple_GET_ITEM(state.code->object->co_localsplusnames, argument);
  PyObject* value = nullptr;
  if (find_item(state.peek(1), name, &value) < 0) return Flow::Raise;
  if (value == nullptr) value = PyCell_Get(state.slots[argument]);
  if (value == nullptr) return raise_unbound(state, argument);
  Py_SETREF(state.peek(1), value);
  return Flow::Next;
}
#endif

}  // namespace taeda::dynamo::run
