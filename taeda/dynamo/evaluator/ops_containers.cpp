// Containers, unpacking and texts.
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/messages.h"
#include "taeda/dynamo/evaluator/state.h"

// Exported by every version, declared by some.
extern "C" PyAPI_FUNC(int) _PyDict_MergeEx(PyObject* map, PyObject* other, int override_keys);

namespace taeda::dynamo::run {

Flow BUILD_TUPLE_(State& state, int argument) {
  PyObject* tuple = PyTuple_New(argument);
  if (tuple == nullptr) return Flow::Raise;
  state.top -= argument;
  for (int i = 0; i < argument; ++i) PyTuple_SET_ITEM(tuple, i, state.top[i]);
  state.push(tuple);
  return Flow::Next;
}

Flow BUILD_LIST_(State& state, int argument) {
  PyObject* list = PyList_New(argument);
  if (list == nullptr) return Flow::Raise;
  state.top -= argument;
  for (int i = 0; i < argument; ++i) PyList_SET_ITEM(list, i, state.top[i]);
  state.push(list);
  return Flow::Next;
}

namespace {

// Drops the topmost values, the first one pushed first.
void drop(State& state, int count) {
  state.top -= count;
  for (int i = 0; i < count; ++i) Py_DECREF(state.top[i]);
}

}  // namespace

Flow BUILD_SET_(State& state, int argument) {
  Owned set(PySet_New(nullptr));
  if (!set) return Flow::Raise;
  for (int i = argument; i > 0; --i) {
    if (PySet_Add(set.get(), state.peek(i)) < 0) return Flow::Raise;
  }
  drop(state, argument);
  return state.push_or_raise(set.release());
}

Flow BUILD_MAP_(State& state, int argument) {
  Owned map(PyDict_New());
  if (!map) return Flow::Raise;
  for (int i = argument; i > 0; --i) {
    if (PyDict_SetItem(map.get(), state.peek(2 * i), state.peek(2 * i - 1)) < 0) return Flow::Raise;
  }
  drop(state, 2 * argument);
  return state.push_or_raise(map.release());
}

Flow BUILD_CONST_KEY_MAP_(State& state, int argument) {
  PyObject* keys = state.peek(1);
  Owned map(PyDict_New());
  if (!map) return Flow::Raise;
  if (!PyTuple_CheckExact(keys) || PyTuple_GET_SIZE(keys) != argument) {
    PyErr_SetString(PyExc_SystemError, "bad BUILD_CONST_KEY_MAP keys argument");
    return Flow::Raise;
  }
  for (int i = 0; i < argument; ++i) {
    if (PyDict_SetItem(map.get(), PyTuple_GET_ITEM(keys, i), state.peek(argument + 1 - i)) < 0)
      return Flow::Raise;
  }
  drop(state, argument + 1);
  return state.push_or_raise(map.release());
}

Flow BUILD_SLICE_(State& state, int argument) {
  Owned step(argument == 3 ? state.pop() : nullptr);
  Owned stop = state.take();
  Owned start = state.take();
  return state.push_or_raise(PySlice_New(start.get(), stop.get(), step.get()));
}

Flow BUILD_STRING_(State& state, int argument) {
  if (BUILD_LIST_(state, argument) != Flow::Next) return Flow::Raise;
  Owned parts = state.take();
  Owned empty(PyUnicode_New(0, 0));
  if (!empty) return Flow::Raise;
  return state.push_or_raise(PyUnicode_Join(empty.get(), parts.get()));
}

Flow LIST_APPEND_(State& state, int argument) {
  Owned value = state.take();
  return PyList_Append(state.peek(argument), value.get()) < 0 ? Flow::Raise : Flow::Next;
}

Flow SET_ADD_(State& state, int argument) {
  Owned value = state.take();
  return PySet_Add(state.peek(argument), value.get()) < 0 ? Flow::Raise : Flow::Next;
}

Flow MAP_ADD_(State& state, int argument) {
  Owned value = state.take();
  Owned key = state.take();
  return PyDict_SetItem(state.peek(argument), key.get(), value.get()) < 0 ? Flow::Raise
                                                                          : Flow::Next;
}

Flow LIST_EXTEND_(State& state, int argument) {
  Owned iterable = state.take();
  Owned list(PySequence_InPlaceConcat(state.peek(argument), iterable.get()));
  if (list) return Flow::Next;
  PyTypeObject* type = Py_TYPE(iterable.get());
  if (PyErr_ExceptionMatches(PyExc_TypeError) && type->tp_iter == nullptr &&
      !PySequence_Check(iterable.get())) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s", type->tp_name);
  }
  return Flow::Raise;
}

#if PY_MINOR_VERSION == 11
Flow LIST_TO_TUPLE_(State& state, int) {
  Owned list = state.take();
  return state.push_or_raise(PyList_AsTuple(list.get()));
}
#endif

Flow SET_UPDATE_(State& state, int argument) {
  Owned iterable = state.take();
  Owned none(PyObject_CallMethod(state.peek(argument), "update", "(O)", iterable.get()));
  return none ? Flow::Next : Flow::Raise;
}

Flow DICT_UPDATE_(State& state, int argument) {
  Owned update = state.take();
  if (PyDict_Update(state.peek(argument), update.get()) == 0) return Flow::Next;
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not a mapping",
                 Py_TYPE(update.get())->tp_name);
  }
  return Flow::Raise;
}

namespace {

// `f(**a, **b)` with a repeated key, or with something that is no mapping.
void explain_merge(PyObject* function, PyObject* update) {
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    Owned text(_PyObject_FunctionStr(function));
    if (!text) return;
    PyErr_Format(PyExc_TypeError, "%U argument after ** must be a mapping, not %.200s", text.get(),
                 Py_TYPE(update)->tp_name);
    return;
  }
  if (!PyErr_ExceptionMatches(PyExc_KeyError)) return;
  Owned raised(taeda_take_raised());
  PyObject* arguments = reinterpret_cast<PyBaseExceptionObject*>(raised.get())->args;
  if (!PyTuple_Check(arguments) || PyTuple_GET_SIZE(arguments) != 1) {
    taeda_set_raised(raised.release());
    return;
  }
  Owned text(_PyObject_FunctionStr(function));
  if (!text) return;
  PyErr_Format(PyExc_TypeError, "%U got multiple values for keyword argument '%S'", text.get(),
               PyTuple_GET_ITEM(arguments, 0));
}

}  // namespace

// The function lies below the arguments that are being collected, and in 3.13 one word deeper.
Flow DICT_MERGE_(State& state, int argument) {
  Owned update = state.take();
  if (_PyDict_MergeEx(state.peek(argument), update.get(), 2) == 0) return Flow::Next;
  explain_merge(state.peek(argument + (PY_MINOR_VERSION >= 13 ? 3 : 2)), update.get());
  return Flow::Raise;
}

namespace {

void explain_count(Py_ssize_t got, int before, int after) {
  if (after < 0) {
    PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected %d, got %zd)", before,
                 got);
  } else {
    PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected at least %d, got %zd)",
                 before + after, got);
  }
}

Owned iterator_of(PyObject* iterable) {
  Owned iterator(PyObject_GetIter(iterable));
  PyTypeObject* type = Py_TYPE(iterable);
  if (!iterator && PyErr_ExceptionMatches(PyExc_TypeError) && type->tp_iter == nullptr &&
      !PySequence_Check(iterable)) {
    PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", type->tp_name);
  }
  return iterator;
}

// Unpacks into the words from `words` on, the first value last: it comes to lie on top. `after` is
// the number of values behind a starred one, -1 where there is none. False raises.
bool unpack(PyObject* iterable, PyObject** words, int before, int after) {
  const int total = before + (after < 0 ? 0 : after + 1);
  PyObject** next = words + total;
  auto fail = [&] {
    while (next < words + total) Py_DECREF(*next++);
    return false;
  };
  Owned iterator = iterator_of(iterable);
  if (!iterator) return false;
  for (int i = 0; i < before; ++i) {
    PyObject* value = PyIter_Next(iterator.get());
    if (value == nullptr) {
      if (!PyErr_Occurred()) explain_count(i, before, after);
      return fail();
    }
    *--next = value;
  }
  if (after < 0) {
    Owned more(PyIter_Next(iterator.get()));
    if (!more && !PyErr_Occurred()) return true;
    if (more) {
      PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", before);
    }
    return fail();
  }
  PyObject* list = PySequence_List(iterator.get());
  if (list == nullptr) return fail();
  *--next = list;
  const Py_ssize_t rest = PyList_GET_SIZE(list) - after;
  if (rest < 0) {
    explain_count(before + PyList_GET_SIZE(list), before, after);
    return fail();
  }
  for (int i = 0; i < after; ++i) *--next = Py_NewRef(PyList_GET_ITEM(list, rest + i));
  if (PyList_SetSlice(list, rest, rest + after, nullptr) < 0) return fail();
  return true;
}

}  // namespace

Flow UNPACK_SEQUENCE_(State& state, int argument) {
  Owned iterable = state.take();
  if (!unpack(iterable.get(), state.top, argument, -1)) return Flow::Raise;
  state.top += argument;
  return Flow::Next;
}

Flow UNPACK_EX_(State& state, int argument) {
  const int before = argument & 0xFF, after = argument >> 8;
  Owned iterable = state.take();
  if (!unpack(iterable.get(), state.top, before, after)) return Flow::Raise;
  state.top += before + 1 + after;
  return Flow::Next;
}

namespace {

// What `!s`, `!r` and `!a` name, by number.
PyObject* convert(PyObject* value, int conversion) {
  switch (conversion) {
    case 1: return PyObject_Str(value);
    case 2: return PyObject_Repr(value);
    case 3: return PyObject_ASCII(value);
    default: return Py_NewRef(value);
  }
}

PyObject* format(PyObject* value, PyObject* spec) {
  if (spec == nullptr && PyUnicode_CheckExact(value)) return Py_NewRef(value);
  return PyObject_Format(value, spec);
}

}  // namespace

#if PY_MINOR_VERSION <= 12
Flow FORMAT_VALUE_(State& state, int argument) {
  Owned spec(argument & 4 ? state.pop() : nullptr);
  Owned value = state.take();
  value = Owned(convert(value.get(), argument & 3));
  if (!value) return Flow::Raise;
  return state.push_or_raise(format(value.get(), spec.get()));
}
#else
Flow CONVERT_VALUE_(State& state, int argument) {
  Owned value = state.take();
  return state.push_or_raise(convert(value.get(), argument));
}

Flow FORMAT_SIMPLE_(State& state, int) {
  Owned value = state.take();
  return state.push_or_raise(format(value.get(), nullptr));
}

Flow FORMAT_WITH_SPEC_(State& state, int) {
  Owned spec = state.take();
  Owned value = state.take();
  return state.push_or_raise(format(value.get(), spec.get()));
}
#endif

}  // namespace taeda::dynamo::run
