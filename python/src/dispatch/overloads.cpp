// Finds OpOverload objects for operators and the other way round.
#include "python/src/dispatch/overloads.h"

#include <unordered_map>

#include "python/interop/errors.h"
#include "python/src/dispatch/boxed_values.h"
#include "taeda/dynamo/capture/source.h"

namespace taeda::python {
namespace {

PyObject* ops_module() {
  static PyObject* module = checked(PyImport_ImportModule("taeda._ops"));
  return module;
}

}  // namespace

PyObject* overload_of(const dispatch::Operator& op) {
  static auto* overloads = new std::unordered_map<const dispatch::Operator*, PyObject*>;
  if (auto it = overloads->find(&op); it != overloads->end()) return it->second;
  PyObject* found =
      checked(PyObject_CallMethod(ops_module(), "_overload_of", "ss", op.name, op.overload));
  return overloads->emplace(&op, found).first->second;
}

dispatch::Operator* operator_of_overload(PyObject* o) {
  static dynamo::Loaded overload("taeda._ops", "OpOverload");
  if (!overload.get() || !PyObject_TypeCheck(o, overload.type())) return nullptr;
  const Ref handle(checked(PyObject_GetAttrString(o, "_handle")));
  return &operator_of_handle(handle.get());
}

PyObject* dispatch_rule(PyObject* overload, PyTypeObject* type) {
  static PyObject* const name = checked(PyUnicode_InternFromString("_dispatch_rules"));
  const Ref rules(checked(PyObject_GetAttr(overload, name)));
  if (rules.get() == Py_None) return nullptr;
  return PyDict_GetItemWithError(rules.get(), reinterpret_cast<PyObject*>(type));
}

}  // namespace taeda::python
