// Calls of classes, and items of classes: what a class of classes says of both is entered, and C
// makes the instances of all others.
#include <algorithm>

#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

PyObject* call_of(PyTypeObject* meta) {
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  return _PyType_Lookup(meta, name);
}

bool is_exception_class(PyTypeObject* type) {
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

// The class of C that instances of a class have their memory of.
const PyTypeObject* native_base_of(const PyTypeObject* type) {
  while (type->tp_flags & Py_TPFLAGS_HEAPTYPE) type = type->tp_base;
  return type;
}

bool is_makeable(const PyTypeObject* base) {
  const PyTypeObject* const known[] = {
      &PyBaseObject_Type, &PyTuple_Type,     &PyDict_Type,    &PyODict_Type, &PyList_Type,
      &PySet_Type,        &PyFrozenSet_Type, &PyLong_Type,    &PyFloat_Type, &PyComplex_Type,
      &PyUnicode_Type,    &PyBytes_Type,     namespace_type()};
  return std::find(std::begin(known), std::end(known), base) != std::end(known) ||
         base == reinterpret_cast<PyTypeObject*>(PyExc_Exception);
}

// A function of Python behind a __class_getitem__; those of `typing` remember what they made.
bool is_own_class_item(PyObject* found) {
  if (!Py_IS_TYPE(found, &PyClassMethod_Type)) return false;
  Owned function(need(PyObject_GetAttrString(found, "__func__")));
  static PyObject* const module_name = PyUnicode_InternFromString("__module__");
  Owned module(need(PyObject_GetAttr(function.get(), module_name)));
  return PyFunction_Check(function.get()) && PyUnicode_Check(module.get()) &&
         PyUnicode_CompareWithASCIIString(module.get(), "typing") != 0;
}

}  // namespace

// What a class statement of a class of classes says of calls: a function, or a class that is called
// with the same arguments. Others are made as the instances of most classes.
PyObject* Capture::call_class(State& state, const Call& call) {
  auto* type = reinterpret_cast<PyTypeObject*>(call.callable);
  PyObject* own = call_of(Py_TYPE(type));
  const CallKind kind = recorder_.kind_of(call.callable);
  const bool is_told = own != call_of(&PyType_Type) && !is_enum_class(type) &&
                       kind == CallKind::Unknown && (type->tp_flags & Py_TPFLAGS_HEAPTYPE);
  if (!is_told) return make_instance(call);
  check_class(type);
  check_class(Py_TYPE(type));
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  Call inner = call;
  if (PyFunction_Check(own)) {
    const int meta = pin(reinterpret_cast<PyObject*>(Py_TYPE(type)));
    Owned function(import(own, sources_.of(Step::TypeLookup, meta, 0, name)));
    keep(function.get());
    inner.values.insert(inner.values.begin(), call.callable);
    ++inner.positional;
    inner.callable = function.get();
  } else if (PyType_Check(own)) {
    inner.callable = own;
  } else {
    throw Break{"call of the class " + name_of(call.callable)};
  }
  return this->call(state, std::move(inner));
}

// type.__call__(cls, ...), which a class of classes reaches by super().
bool Capture::is_making_of_class(const Call& call) const {
  return call.callable == call_of(&PyType_Type) && call.positional > 0 &&
         PyType_Check(call.values[0]);
}

// The same values without history, as a plain tensor.
Owned Capture::detached(PyObject* tensor) {
  auto* plain_class = reinterpret_cast<PyObject*>(recorder_.plain_class());
  static PyObject* const detach = PyObject_GetAttrString(plain_class, "detach");
  const Owned plain(recorder_.is_subclass(tensor)
                        ? need(recorder_.make_subclass(tensor, plain_class))
                        : Py_NewRef(tensor));
  const Owned args(need(PyTuple_Pack(1, plain.get())));
  return Owned(need(recorder_.call(detach, args.get(), nullptr)));
}

// Tensor.__new__(class, ...), which a class of tensors reaches by super().
bool Capture::is_new_of_tensors(const Call& call) const {
  static PyObject* const name = PyUnicode_InternFromString("__new__");
  return !call.values.empty() && PyType_Check(call.values[0]) &&
         call.callable == _PyType_Lookup(recorder_.plain_class(), name);
}

// What Tensor.__new__ makes of sizes, numbers or a tensor.
PyObject* Capture::new_tensor(PyTypeObject* type, const Call& call) {
  const auto is_size = [](PyObject* o) { return PyLong_CheckExact(o) || python::is_symint(o); };
  PyObject* first = call.values.empty() ? nullptr : call.values[0];
  const bool is_copy = call.values.size() == 1 && recorder_.is_tensor_value(first);
  const bool has_data =
      call.values.size() == 1 && (PyTuple_Check(first) || PyList_CheckExact(first));
  const bool has_sizes = std::all_of(call.values.begin(), call.values.end(), is_size);
  if (call.names != nullptr || !(is_copy || has_data || has_sizes))
    throw Break{"call of " + name_of(reinterpret_cast<PyObject*>(type))};
  static PyObject* const make = imported("taeda.compiler._value_substitutes", "make_tensor");
  Owned made =
      is_copy
          ? detached(first)
          : Owned(need(PyObject_Vectorcall(make, call.values.data(), call.positional, nullptr)));
  if (type == recorder_.plain_class()) return made.release();
  return need(recorder_.make_subclass(made.get(), reinterpret_cast<PyObject*>(type)));
}

// A class of tensors: its own __new__ and __init__ come back through the hook.
PyObject* Capture::make_tensor(const Call& call) {
  static PyObject* const new_name = PyUnicode_InternFromString("__new__");
  static PyObject* const init_name = PyUnicode_InternFromString("__init__");
  auto* type = reinterpret_cast<PyTypeObject*>(call.callable);
  check_class(type);
  if (_PyType_Lookup(type, new_name) != _PyType_Lookup(recorder_.plain_class(), new_name))
    return call_plainly(call);
  Owned made(new_tensor(type, call));
  PyObject* init = _PyType_Lookup(type, init_name);
  if (init == _PyType_Lookup(&PyBaseObject_Type, init_name)) return made.release();
  if (!PyFunction_Check(init)) throw Break{"call of " + name_of(call.callable)};
  std::vector<PyObject*> arguments{made.get()};
  arguments.insert(arguments.end(), call.values.begin(), call.values.end());
  const Owned done(call_nested(init, std::move(arguments)));
  return made.release();
}

// As C makes instances: __new__ and __init__ of Python come back through the hook.
PyObject* Capture::call_plainly(const Call& call) {
  Owned args = tuple_of(call);
  Owned keywords(call.names == nullptr ? nullptr : need(PyDict_New()));
  for (size_t i = call.positional; i < call.values.size(); ++i)
    need(PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(call.names, i - call.positional),
                        call.values[i]));
  return need(PyType_Type.tp_call(call.callable, args.get(), keywords.get()));
}

PyObject* Capture::make_instance(const Call& call) {
  auto* type = reinterpret_cast<PyTypeObject*>(call.callable);
  const CallKind kind = recorder_.kind_of(call.callable);
  if (kind == CallKind::Operator) return call_operator(call);
  static PyObject* const del_name = PyUnicode_InternFromString("__del__");
  if (call.callable == reinterpret_cast<PyObject*>(&_PyWeakref_RefType))
    return make_reference(call);
  if (is_python_generator_class(type)) return make_generator(call);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && _PyType_Lookup(type, del_name) != nullptr)
    throw Break{"an object of class " + name_of(call.callable) + ", which has __del__"};
  if (kind == CallKind::Reads) return call_reader(call);
  if (kind == CallKind::Pure || is_exception_class(type)) return call_native(call, CallKind::Pure);
  if (is_enum_class(type) && std::all_of(call.values.begin(), call.values.end(), is_immutable)) {
    check_class(type);
    const SessionScope natively(nullptr);
    return need(
        PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names));
  }
  if (PyType_IsSubtype(type, recorder_.plain_class())) return make_tensor(call);
  const PyTypeObject* base = native_base_of(type);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || is_enum_class(type) || !is_makeable(base))
    throw Break{"call of the class " + name_of(call.callable)};
  check_class(type);
  // What C copies is there.
  if (base != &PyBaseObject_Type)
    for (PyObject* value : call.values) open(value);
  Owned made(call_plainly(call));
  if (PyAnySet_Check(made.get())) note_identities_in(made.get());
  return made.release();
}

// type.__dict__["__mro__"].__get__(cls): what C keeps of classes, whatever their class has by the
// same name. Null for other calls.
PyObject* Capture::call_class_getter(PyObject* descriptor, PyObject* name, const Call& call) {
  const bool is_known = (Py_IS_TYPE(descriptor, &PyGetSetDescr_Type) ||
                         Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) &&
                        PyDescr_TYPE(descriptor) == &PyType_Type && !call.values.empty() &&
                        PyType_Check(call.values[0]) &&
                        PyUnicode_CompareWithASCIIString(name, "__get__") == 0;
  if (!is_known) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(call.values[0]);
  check_class(type);
  if (PyUnicode_CompareWithASCIIString(PyDescr_NAME(descriptor), "__dict__") == 0)
    return names_of_class(type);
  Owned value(need(Py_TYPE(descriptor)->tp_descr_get(descriptor, call.values[0], nullptr)));
  const bool is_shown =
      is_immutable(value.get()) || PyTuple_Check(value.get()) || PyType_Check(value.get());
  return is_shown ? value.release() : nullptr;
}

// type.__subclasses__(cls): a class statement anywhere may add to them. Null for other calls.
PyObject* Capture::call_subclasses(const Call& call) {
  static PyObject* const name = PyUnicode_InternFromString("__subclasses__");
  const bool is_known = call.callable == _PyType_Lookup(&PyType_Type, name) &&
                        call.values.size() == 1 && PyType_Check(call.values[0]);
  if (!is_known) return nullptr;
  Owned classes = subclasses_of(reinterpret_cast<PyTypeObject*>(call.values[0]));
  Owned kept(need(classes ? PyList_AsTuple(classes.get()) : nullptr));
  check(Check::Kind::Subclasses, pin(call.values[0]), kept.get());
  return classes.release();
}

// Members of enumerations, what a class or its class says of items, and parameters of generic
// classes, which are the same at every call.
PyObject* Capture::class_item(PyTypeObject* type, PyObject* key) {
  static PyObject* const item_name = PyUnicode_InternFromString("__getitem__");
  static PyObject* const class_name = PyUnicode_InternFromString("__class_getitem__");
  auto* object = reinterpret_cast<PyObject*>(type);
  check_class(type);
  check_class(Py_TYPE(type));
  PyObject* of_meta = _PyType_Lookup(Py_TYPE(type), item_name);
  PyObject* own = _PyType_Lookup(type, class_name);
  const bool is_by_class = of_meta == nullptr && own != nullptr && is_own_class_item(own);
  if (!is_enum_class(type) && of_meta != nullptr && PyFunction_Check(of_meta)) {
    Owned method(bind(of_meta, object, Py_TYPE(type), item_name));
    return need(PyObject_CallOneArg(method.get(), key));
  }
  if (is_by_class) {
    Owned method(class_attribute(type, class_name));
    return need(PyObject_CallOneArg(method.get(), key));
  }
  const SessionScope natively(nullptr);
  if (is_enum_class(type) || !is_known_key(key)) {
    if (!is_enum_class(type) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE))
      throw Break{"an item of a class"};
    PyObject* member = need(PyObject_GetItem(object, key));
    keep(member);
    return member;
  }
  Owned made(need(PyObject_GetItem(object, key)));
  return note_outside(made.get(), pin(made.get()));
}

}  // namespace taeda::dynamo
