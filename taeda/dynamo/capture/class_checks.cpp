// isinstance of stand-ins, of which those of tensors and numbers have other classes than what they
// stand for.
#include <string_view>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

// __instancecheck__ of a class of classes that the program wrote; null for others. Borrowed.
PyObject* own_instance_check(PyObject* type) {
  if (!PyType_Check(type) || Py_TYPE(type) == &PyType_Type) return nullptr;
  static PyObject* const name = PyUnicode_InternFromString("__instancecheck__");
  PyObject* found = _PyType_Lookup(Py_TYPE(type), name);
  if (found == nullptr || !PyFunction_Check(found)) return nullptr;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(found), "__name__");
  const char* text = module != nullptr ? PyUnicode_AsUTF8(module) : nullptr;
  const std::string_view place(text != nullptr ? text : "");
  const bool is_known = place.starts_with("taeda") || place == "abc" || place == "typing";
  return is_known ? nullptr : found;
}

// A class that says which names its instances have.
bool is_protocol(PyObject* type) {
  static Loaded meta("typing", "_ProtocolMeta");
  return meta.get() != nullptr && Py_TYPE(type) == meta.type();
}

bool is_flagged(PyObject* type, const char* name) {
  Owned flag(PyObject_GetAttrString(type, name));
  if (!flag) PyErr_Clear();
  return flag && PyObject_IsTrue(flag.get()) == 1;
}

}  // namespace

// By class, or by names that the class or the object has, of which nothing is called.
bool Capture::has_protocol(PyObject* object, PyObject* protocol) {
  static PyObject* const check_classes = imported("_abc", "_abc_instancecheck");
  static PyObject* const names_of = imported("typing", "_get_protocol_attrs");
  Owned token = abc_token();
  check(Check::Kind::AbcToken, pin(check_classes), token.get());
  PyTypeObject* type = Py_TYPE(object);
  check_class(type);
  check_class(reinterpret_cast<PyTypeObject*>(protocol));
  Owned names;
  {
    const SessionScope natively(nullptr);
    if (is_flagged(protocol, "_is_protocol") && !is_flagged(protocol, "_is_runtime_protocol"))
      throw Break{"a protocol that is not for checks"};
    Owned both(need(PyTuple_Pack(2, protocol, object)));
    Owned is_one(PyObject_CallObject(check_classes, both.get()));
    // Names of values, not of methods, are no matter of classes.
    if (!is_one && !PyErr_ExceptionMatches(PyExc_TypeError)) throw Raised{};
    if (!is_one) PyErr_Clear();
    if (is_one.get() == Py_True ||
        PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(protocol)))
      return true;
    if (!is_flagged(protocol, "_is_protocol")) return false;
    Owned found(need(PyObject_CallOneArg(names_of, protocol)));
    names = Owned(need(PySequence_List(found.get())));
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names.get()); ++i) {
    PyObject* name = PyList_GET_ITEM(names.get(), i);
    PyObject* value = nullptr;
    if (PyObject* own = attributes_of(object)) value = dict_get(own, name);
    if (value == nullptr) value = _PyType_Lookup(type, name);
    if (value == nullptr) return false;
    Owned asked(PyObject_GetAttr(protocol, name));
    if (!asked) PyErr_Clear();
    if (value == Py_None && asked && PyCallable_Check(asked.get())) return false;
  }
  return true;
}

// Classes that ask nothing but the classes of an object.
static bool are_plain_classes(PyObject* classes) {
  if (PyType_Check(classes)) return Py_IS_TYPE(classes, &PyType_Type);
  if (!PyTuple_CheckExact(classes)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i)
    if (!are_plain_classes(PyTuple_GET_ITEM(classes, i))) return false;
  return true;
}

// Null where C asks the object itself.
PyObject* Capture::call_isinstance(PyObject* object, PyObject* classes) {
  if (recorder_.is_value(object)) {
    if (PyObject* asked = own_instance_check(classes)) {
      check_class(Py_TYPE(classes));
      Owned answer(call_nested(asked, {classes, object}));
      return PyBool_FromLong(PyObject_IsTrue(answer.get()));
    }
    auto* own = reinterpret_cast<PyObject*>(recorder_.class_of(object));
    const int is_one = PyObject_IsSubclass(own, classes);
    need(is_one);
    // FloatTensor and the like ask for the dtype.
    if (is_one == 0 && recorder_.is_tensor_value(object) && PyType_Check(classes) &&
        Py_TYPE(classes) != &PyType_Type) {
      const SessionScope natively(nullptr);
      const int is_kind = PyObject_IsInstance(object, classes);
      need(is_kind);
      return PyBool_FromLong(is_kind);
    }
    return PyBool_FromLong(is_one);
  }
  if (PyObject* referent = referent_of(object)) {
    // By its own class, then by that of what it stands for.
    static PyObject* const isinstance = imported("builtins", "isinstance");
    const int is_one = PyObject_IsSubclass(reinterpret_cast<PyObject*>(Py_TYPE(object)), classes);
    need(is_one);
    if (is_one) return Py_NewRef(Py_True);
    PyObject* answer = call_isinstance(referent, classes);
    return answer != nullptr
               ? answer
               : call_native({isinstance, {referent, classes}, 2, nullptr}, CallKind::Pure);
  }
  if (is_opaque(object)) {
    const int is_one = PyObject_IsSubclass(reinterpret_cast<PyObject*>(Py_TYPE(object)), classes);
    need(is_one);
    return PyBool_FromLong(is_one);
  }
  // Nobody looks into a container for that.
  if ((PyTuple_Check(object) || twin_of(object) != nullptr) && are_plain_classes(classes)) {
    check_class(Py_TYPE(object));
    const int is_one = PyObject_IsSubclass(reinterpret_cast<PyObject*>(Py_TYPE(object)), classes);
    need(is_one);
    return PyBool_FromLong(is_one);
  }
  if (PyType_Check(classes) && is_protocol(classes))
    return PyBool_FromLong(has_protocol(object, classes));
  if (!PyTuple_Check(classes)) return nullptr;
  // One of several, each asked in turn.
  static PyObject* const isinstance = imported("builtins", "isinstance");
  bool has_protocols = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i)
    has_protocols |= is_protocol(PyTuple_GET_ITEM(classes, i));
  for (Py_ssize_t i = 0; has_protocols && i < PyTuple_GET_SIZE(classes); ++i) {
    PyObject* one = PyTuple_GET_ITEM(classes, i);
    Owned answer(call_isinstance(object, one));
    if (!answer)
      answer = Owned(call_native({isinstance, {object, one}, 2, nullptr}, CallKind::Pure));
    if (answer.get() == Py_True) return Py_NewRef(Py_True);
  }
  return has_protocols ? Py_NewRef(Py_False) : nullptr;
}

}  // namespace taeda::dynamo
