// The instructions of a capture that read and write attributes and items.
#include <algorithm>
#include <utility>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/messages.h"

namespace taeda::dynamo {

Flow Capture::load_attr(State& state, int argument) {
#if PY_MINOR_VERSION >= 12
  if (argument & 1) return load_method(state, argument >> 1);
  argument >>= 1;
#endif
  Owned object = state.take();
  state.push(attribute(object.get(), state.name(argument)));
  return Flow::Next;
}

// Methods are bound; calls take them apart again.
Flow Capture::load_method(State& state, int argument) {
  Owned object = state.take();
  PyObject* method = attribute(object.get(), state.name(argument));
  state.push_callable(method, nullptr);
  return Flow::Next;
}

Flow Capture::store_attr(State& state, int argument) {
  Owned object = state.take();
  Owned value = state.take();
  set_attribute(object.get(), state.name(argument), value.get());
  return Flow::Next;
}

Flow Capture::delete_attr(State& state, int argument) {
  Owned object = state.take();
  set_attribute(object.get(), state.name(argument), nullptr);
  return Flow::Next;
}

// Symbolic numbers are looked up as numbers; tensors by identity.
bool Capture::is_key(PyObject* object) {
  return !recorder_.is_value(object) || recorder_.is_tensor_value(object) ||
         python::is_symbolic(object);
}

Flow Capture::binary_subscr(State& state, int argument) {
  Owned key = state.take();
  Owned container = state.take();
  Twin* twin = twin_of(container.get());
  if (twin != nullptr && is_lazy_dict(container.get()) && is_key(key.get())) {
    PyObject* value = dict_get(container.get(), key.get());
    Owned made;
    if (value == nullptr && Py_IS_TYPE(container.get(), defaultdict_type())) {
      Owned factory(need(PyObject_GetAttrString(container.get(), "default_factory")));
      if (factory.get() != Py_None) {
        const bool is_known =
            PyFunction_Check(factory.get()) || recorder_.kind_of(factory.get()) == CallKind::Pure;
        if (!is_known) throw Break{"a default dict of objects of C"};
        made = Owned(need(PyObject_CallNoArgs(factory.get())));
        value = made.get();
        dict_set(container.get(), key.get(), value);
      }
    }
    if (value == nullptr) {
      PyErr_SetObject(PyExc_KeyError, key.get());
      return Flow::Raise;
    }
    state.push(Py_NewRef(value));
    return Flow::Next;
  }
  if (is_opaque(container.get())) throw Break{"an item of an object that is not known"};
  if (PyType_Check(container.get())) {
    state.push(class_item(reinterpret_cast<PyTypeObject*>(container.get()), key.get()));
    return Flow::Next;
  }
  fill(container.get());
  read_item(container.get(), key.get());
  open_deep(key.get());
  if (PyDict_Check(container.get())) {
    note_identity(key.get());
    settle_met(key.get(), container.get());
  }
  if (recorder_.is_tensor_value(container.get())) key = index_of(key.get());
  state.push(container.release());
  state.push(key.release());
  return run::BINARY_SUBSCR_(state, argument);
}

Flow Capture::store_subscr(State& state, int argument) {
  ++writes_;
  PyObject* key = state.peek(1);
  PyObject* container = state.peek(2);
  if (is_opaque(container)) throw Break{"a write to an object that is not known"};
  if (twin_of(container) != nullptr && is_lazy_dict(container) && is_key(key)) {
    dict_set(container, key, state.peek(3));
    for (int i = 0; i < 3; ++i) Py_DECREF(state.pop());
    return Flow::Next;
  }
  check_ends_in(container);
  open(container);
  open_deep(key);
  open_deep(state.peek(3));
  if (PyDict_Check(container)) note_key(state.peek(1));
  if (recorder_.is_tensor_value(container))
    Py_SETREF(state.peek(1), index_of(state.peek(1)).release());
  const Owned kept(Py_NewRef(container)), items = items_of(container);
  const Flow flow = run::STORE_SUBSCR_(state, argument);
  if (flow != Flow::Raise) check_references(kept.get(), items);
  return flow;
}

Flow Capture::delete_subscr(State& state, int argument) {
  ++writes_;
  PyObject* key = state.peek(1);
  PyObject* container = state.peek(2);
  if (is_opaque(container)) throw Break{"a write to an object that is not known"};
  if (twin_of(container) != nullptr && is_lazy_dict(container)) {
    if (!dict_delete(container, key)) {
      PyErr_SetObject(PyExc_KeyError, key);
      return Flow::Raise;
    }
    Py_DECREF(state.pop());
    Py_DECREF(state.pop());
    return Flow::Next;
  }
  check_ends_in(container);
  open(container);
  if (PyDict_Check(container)) note_identity(key);
  const Owned kept(Py_NewRef(container)), items = items_of(container);
  const Flow flow = run::DELETE_SUBSCR_(state, argument);
  if (flow != Flow::Raise) check_references(kept.get(), items);
  return flow;
}

Flow Capture::contains(State& state, int argument) {
  PyObject* container = state.peek(1);
  PyObject* value = state.peek(2);
  Twin* twin = twin_of(container);
  if (is_opaque(container) ||
      (twin != nullptr && !opens_empty(container) && !settle_addresses(value)))
    throw Break{"a search in an object that is not known"};
  if (twin != nullptr && is_lazy_dict(container) && is_key(value)) {
    const bool is_there = dict_get(container, value) != nullptr;
    Py_DECREF(state.pop());
    Py_DECREF(state.pop());
    state.push(PyBool_FromLong(is_there != (argument != 0)));
    return Flow::Next;
  }
  if (twin != nullptr && !twin->is_open && twin->added.empty() &&
      (PySet_Check(container) || PyList_CheckExact(container))) {
    check_unwritten(twin->original);
    const PyObject* is_there =
        PySet_Check(container) ? find_in_set(*twin, value) : find_in_list(*twin, value);
    if (is_there != nullptr) {
      Py_DECREF(state.pop());
      Py_DECREF(state.pop());
      state.push(PyBool_FromLong((is_there == Py_True) != (argument != 0)));
      return Flow::Next;
    }
  }
  open_deep(value);
  open_deep(container);
  settle_met(value, container);
  if (PyAnySet_Check(container) || PyDict_Check(container)) note_identity(value);
  if (is_namespace(Py_TYPE(value)) && holds_namespace(container))
    throw Break{"a search for an object that is not known"};
  note_compared(value, container);
  is_looked_at_ = true;
  const bool goes_on = is_found_by_going_on(container);
  const Flow flow = run::CONTAINS_OP_(state, argument);
  if (goes_on && !is_broken_) note_same_class(value);
  return flow;
}

// On its way into a set or a dict.
void Capture::note_key(PyObject*& key) {
  read_deep(key);
  Py_SETREF(key, constant_key(key).release());
  note_identity(key);
}

// Members of a set, and keys of a dict, that are two stay two.
Flow Capture::build_set(State& state, int argument) {
  for (int i = 1; i <= argument; ++i) note_key(state.peek(i));
  return state.now->handler(state, argument);
}

Flow Capture::build_map(State& state, int argument) {
  for (int i = 1; i <= argument; ++i) note_key(state.peek(2 * i));
  return state.now->handler(state, argument);
}

}  // namespace taeda::dynamo
