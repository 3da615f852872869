// Names of modules, classes and builtins, and imports.
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/messages.h"
#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo::run {

namespace {

PyObject* namespace_of(State& state) {
  PyObject* names = taeda_frame_namespace(state.frame);
  if (names == nullptr) PyErr_SetString(PyExc_SystemError, "no locals found");
  return names;
}

int find_in_dict(PyObject* dict, PyObject* name, PyObject** value) {
  *value = Py_XNewRef(PyDict_GetItemWithError(dict, name));
  return *value == nullptr && PyErr_Occurred() ? -1 : 0;
}

Flow load_builtin_name(State& state, PyObject* name, PyObject** value) {
  if (find_item(taeda_frame_builtins(state.frame), name, value) < 0) return Flow::Raise;
  return *value == nullptr ? raise_name_error(name) : Flow::Next;
}

// Looks in a namespace, in the globals as a plain dictionary, then in the builtins.
Flow load_name(State& state, PyObject* first, PyObject* name, PyObject** value) {
  if (find_item(first, name, value) < 0) return Flow::Raise;
  if (*value != nullptr) return Flow::Next;
  if (find_in_dict(taeda_frame_globals(state.frame), name, value) < 0) return Flow::Raise;
  return *value != nullptr ? Flow::Next : load_builtin_name(state, name, value);
}

// Looks in the globals, which may be of a class of its own, then in the builtins.
Flow load_global(State& state, PyObject* name, PyObject** value) {
  if (find_item(taeda_frame_globals(state.frame), name, value) < 0) return Flow::Raise;
  return *value != nullptr ? Flow::Next : load_builtin_name(state, name, value);
}

}  // namespace

Flow LOAD_NAME_(State& state, int argument) {
  PyObject* names = namespace_of(state);
  PyObject* value = nullptr;
  if (names == nullptr) return Flow::Raise;
  if (load_name(state, names, state.name(argument), &value) != Flow::Next) return Flow::Raise;
  state.push(value);
  return Flow::Next;
}

Flow STORE_NAME_(State& state, int argument) {
  Owned value = state.take();
  PyObject* names = taeda_frame_namespace(state.frame);
  if (names == nullptr) {
    PyErr_Format(PyExc_SystemError, "no locals found when storing %R", state.name(argument));
    return Flow::Raise;
  }
  return PyObject_SetItem(names, state.name(argument), value.get()) < 0 ? Flow::Raise : Flow::Next;
}

Flow DELETE_NAME_(State& state, int argument) {
  PyObject* names = taeda_frame_namespace(state.frame);
  if (names == nullptr) {
    PyErr_Format(PyExc_SystemError, "no locals when deleting %R", state.name(argument));
    return Flow::Raise;
  }
  if (PyObject_DelItem(names, state.name(argument)) == 0) return Flow::Next;
  return raise_name_error(state.name(argument));
}

Flow LOAD_GLOBAL_(State& state, int argument) {
  PyObject* value = nullptr;
  if (load_global(state, state.name(argument >> 1), &value) != Flow::Next) return Flow::Raise;
  if (argument & 1) {
    state.push_callable(value, nullptr);
  } else {
    state.push(value);
  }
  return Flow::Next;
}

Flow STORE_GLOBAL_(State& state, int argument) {
  Owned value = state.take();
  PyObject* globals = taeda_frame_globals(state.frame);
  return PyDict_SetItem(globals, state.name(argument), value.get()) < 0 ? Flow::Raise : Flow::Next;
}

Flow DELETE_GLOBAL_(State& state, int argument) {
  if (PyDict_DelItem(taeda_frame_globals(state.frame), state.name(argument)) == 0)
    return Flow::Next;
  if (!PyErr_ExceptionMatches(PyExc_KeyError)) return Flow::Raise;
  PyErr_Clear();
  return raise_name_error(state.name(argument));
}

#if PY_MINOR_VERSION >= 12
Flow LOAD_LOCALS_(State& state, int) {
  return state.push_or_raise(Py_XNewRef(namespace_of(state)));
}

Flow LOAD_FROM_DICT_OR_GLOBALS_(State& state, int argument) {
  PyObject* value = nullptr;
  if (load_name(state, state.peek(1), state.name(argument), &value) != Flow::Next)
    return Flow::Raise;
  Py_SETREF(state.peek(1), value);
  return Flow::Next;
}
#endif

Flow LOAD_BUILD_CLASS_(State& state, int) {
  Owned name(PyUnicode_InternFromString("__build_class__"));
  PyObject* value = nullptr;
  if (!name || find_item(taeda_frame_builtins(state.frame), name.get(), &value) < 0)
    return Flow::Raise;
  if (value == nullptr) PyErr_SetString(PyExc_NameError, "__build_class__ not found");
  return state.push_or_raise(value);
}

Flow LOAD_ASSERTION_ERROR_(State& state, int) {
  state.push(Py_NewRef(PyExc_AssertionError));
  return Flow::Next;
}

Flow SETUP_ANNOTATIONS_(State& state, int) {
  PyObject* names = taeda_frame_namespace(state.frame);
  if (names == nullptr) {
    PyErr_SetString(PyExc_SystemError, "no locals found when setting up annotations");
    return Flow::Raise;
  }
  Owned name(PyUnicode_InternFromString("__annotations__"));
  PyObject* found = nullptr;
  if (!name || find_item(names, name.get(), &found) < 0) return Flow::Raise;
  if (Owned(found)) return Flow::Next;
  Owned made(PyDict_New());
  if (!made || PyObject_SetItem(names, name.get(), made.get()) < 0) return Flow::Raise;
  return Flow::Next;
}

namespace {

Owned import_function(State& state) {
  Owned name(PyUnicode_InternFromString("__import__"));
  PyObject* value = nullptr;
  if (!name) return Owned();
  PyObject* builtins = taeda_frame_builtins(state.frame);
  const int error = PY_MINOR_VERSION >= 13 ? find_item(builtins, name.get(), &value)
                                           : find_in_dict(builtins, name.get(), &value);
  if (error == 0 && value == nullptr) {
    PyErr_SetString(PyExc_ImportError, "__import__ not found");
  }
  return Owned(value);
}

}  // namespace

Flow IMPORT_NAME_(State& state, int argument) {
  Owned from = state.take();
  Owned level = state.take();
  Owned import = import_function(state);
  if (!import) return Flow::Raise;
  PyObject* names = taeda_frame_namespace(state.frame);
  PyObject* arguments[] = {state.name(argument), taeda_frame_globals(state.frame),
                           names == nullptr ? Py_None : names, from.get(), level.get()};
  state.checks = true;
  return state.push_or_raise(PyObject_Vectorcall(import.get(), arguments, 5, nullptr));
}

// An attribute of the module, or the submodule of that name while packages import one another. What
// is found nowhere is left to CPython, which knows how to say why.
Flow IMPORT_FROM_(State& state, int argument) {
  PyObject* module = state.peek(1);
  PyObject* value = PyObject_GetAttr(module, state.name(argument));
  if (value != nullptr) return state.push_or_raise(value);
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return Flow::Raise;
  PyErr_Clear();
  Owned package(PyObject_GetAttrString(module, "__name__"));
  if (package && PyUnicode_Check(package.get())) {
    Owned full(PyUnicode_FromFormat("%U.%U", package.get(), state.name(argument)));
    if (full) value = PyImport_GetModule(full.get());
  }
  if (value != nullptr) return state.push_or_raise(value);
  PyErr_Clear();
  return Flow::HandBack;
}

}  // namespace taeda::dynamo::run
