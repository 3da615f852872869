#include "python/src/dynamo/known_calls.h"

#include "python/interop/errors.h"
#include "taeda/dynamo/capture/source.h"
#include "taeda/dynamo/evaluator/session.h"

namespace taeda::python {

using dynamo::CallKind;

namespace {

// A text, or null.
Ref module_name(PyObject* object) {
  static PyObject* const attribute = PyUnicode_InternFromString("__module__");
  Ref name(PyObject_GetAttr(object, attribute));
  if (!name) PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? std::move(name) : Ref();
}

// The name of the module that a function, or the class that has the method, belongs to.
Ref owner_of(PyObject* function) {
  if (PyFunction_Check(function)) {
    PyObject* name = reinterpret_cast<PyFunctionObject*>(function)->func_module;
    if (name && PyUnicode_Check(name)) return Ref::share(name);
  }
  PyTypeObject* type = Py_TYPE(function);
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
      type == &PyClassMethodDescr_Type || type == &PyGetSetDescr_Type ||
      type == &PyMemberDescr_Type)
    return module_name(reinterpret_cast<PyObject*>(PyDescr_TYPE(function)));
  if (Ref name = module_name(function)) return name;
  // str.__new__
  PyObject* self = PyCFunction_Check(function) ? PyCFunction_GET_SELF(function) : nullptr;
  if (self && PyType_Check(self)) return module_name(self);
  return module_name(reinterpret_cast<PyObject*>(type));
}

}  // namespace

void KnownCalls::set(PyObject* function, CallKind kind) {
  if (kinds_.insert_or_assign(function, kind).second) Py_INCREF(function);  // for good
}

void KnownCalls::add(PyObject* function, CallKind kind) {
  if (kinds_.try_emplace(function, kind).second) Py_INCREF(function);
}

CallKind KnownCalls::of(PyObject* function) const {
  const auto found = kinds_.find(function);
  if (found != kinds_.end()) return found->second;
  return !PyFunction_Check(function) || is_disabled(function) ? CallKind::Unknown
                                                              : CallKind::Entered;
}

bool KnownCalls::is_disabled(PyObject* function) {
  static PyObject* const mark = PyUnicode_InternFromString("_torchdynamo_disable");
  if (!PyFunction_Check(function)) return false;
  PyObject* names = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  return names && PyDict_GetItemWithError(names, mark) == Py_True;
}

void KnownCalls::substitute(PyObject* function, PyObject* with) {
  if (substitutes_.insert_or_assign(function, Py_NewRef(with)).second) Py_INCREF(function);
}

PyObject* KnownCalls::substitute_of(PyObject* function) {
  const auto found = substitutes_.find(function);
  if (found == substitutes_.end()) return nullptr;
  if (PyUnicode_Check(found->second)) {
    const dynamo::StackRoom room;
    const Ref module(checked(PyImport_Import(found->second)));
    const Ref all(checked(PyObject_GetAttrString(module.get(), "SUBSTITUTES")));
    PyObject* own = PyDict_GetItemWithError(all.get(), function);
    TAEDA_CHECK(own, "a module of substitutes has none for the function that it is named for");
    substitute(function, own);
  }
  return substitutes_.at(function);
}

bool KnownCalls::is_new(PyObject* function) const {
  if (kinds_.contains(function)) return false;
  const Ref owner = owner_of(function);
  return owner && (!learned_ || PySet_Contains(learned_, owner.get()) == 0);
}

void KnownCalls::learn(PyObject* function) {
  const Ref owner = owner_of(function);
  const dynamo::StackRoom room;
  const Ref module(checked(dynamo::imported_module("taeda.compiler._known_calls")));
  const Ref told(checked(PyObject_CallMethod(module.get(), "tell", "O", owner.get())));
  // What the program patched it may put back.
  if (told.get() == Py_False) return;
  if (!learned_) learned_ = checked(PySet_New(nullptr));
  if (PySet_Add(learned_, owner.get()) < 0) throw_python_error();
}

KnownCalls& known_calls() {
  static KnownCalls* const calls = new KnownCalls;
  return *calls;
}

}  // namespace taeda::python
