#include "taeda/dynamo/evaluator/messages.h"

namespace taeda::dynamo::run {

Flow raise_unbound(State& state, int slot) {
  PyCodeObject* code = state.code->object;
  PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, slot);
  if (slot < code->co_nlocalsplus - code->co_nfreevars) {
    PyErr_Format(PyExc_UnboundLocalError,
                 "cannot access local variable '%U' where it is not associated with a value", name);
    return Flow::Raise;
  }
  PyErr_Format(PyExc_NameError,
               "cannot access free variable '%U' where it is not associated with a value in "
               "enclosing scope",
               name);
  Owned raised(taeda_take_raised());
  PyObject_SetAttrString(raised.get(), "name", name);
  taeda_set_raised(raised.release());
  return Flow::Raise;
}

Flow raise_name_error(PyObject* name) {
  PyErr_Format(PyExc_NameError, "name '%U' is not defined", name);
  Owned raised(taeda_take_raised());
  PyObject_SetAttrString(raised.get(), "name", name);
  taeda_set_raised(raised.release());
  return Flow::Raise;
}

int find_item(PyObject* mapping, PyObject* name, PyObject** value) {
  if (PyDict_CheckExact(mapping)) {
    *value = Py_XNewRef(PyDict_GetItemWithError(mapping, name));
    return *value == nullptr && PyErr_Occurred() ? -1 : 0;
  }
  *value = PyObject_GetItem(mapping, name);
  if (*value != nullptr) return 0;
  if (!PyErr_ExceptionMatches(PyExc_KeyError)) return -1;
  PyErr_Clear();
  return 0;
}

Owned special_method(PyObject* object, const char* name) {
  Owned text(PyUnicode_InternFromString(name));
  PyObject* found = text ? _PyType_Lookup(Py_TYPE(object), text.get()) : nullptr;
  if (found == nullptr) return Owned();
  Owned held(Py_NewRef(found));
  const descrgetfunc get = Py_TYPE(found)->tp_descr_get;
  if (get == nullptr) return held;
  return Owned(get(found, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

}  // namespace taeda::dynamo::run
