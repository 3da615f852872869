// Attributes of classes: reads with guards of versions, and writes that come behind the graph.
#include <algorithm>
#include <cstring>

#include "taeda/dynamo/capture/attribute_kinds.h"

namespace taeda::dynamo {

PyObject* getter_of_names() {
  static PyObject* const name = interned("__dict__");
  return need(PyObject_GetAttrString(_PyType_Lookup(&PyType_Type, name), "__get__"));
}

// __dict__ of a class: a view of a dict with stand-ins. The class does not change.
PyObject* Capture::names_of_class(PyTypeObject* type) {
  const Capture* other = this->other();
  if (!class_writes_.empty() || (other != nullptr && !other->class_writes_.empty()))
    throw Break{"the names of a class behind a write to one"};
  auto* object = reinterpret_cast<PyObject*>(type);
  const Owned get(getter_of_names());
  Owned shown(need(PyObject_CallOneArg(get.get(), object)));
  Owned items(need(PyMapping_Items(shown.get())));
  Owned names(need(PyDict_New()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyList_GET_ITEM(items.get(), i);
    PyObject* key = PyTuple_GET_ITEM(item, 0);
    Owned value(
        import(PyTuple_GET_ITEM(item, 1), sources_.of(Step::TypeLookup, pin(object), 0, key)));
    need(PyDict_SetItem(names.get(), key, value.get()));
  }
  keep(names.get());
  names_of_[names.get()] = type;
  return need(PyDictProxy_New(names.get()));
}

PyObject* Capture::class_attribute(PyTypeObject* type, PyObject* name) {
  check_class(type);
  check_class(Py_TYPE(type));
  if (is_named(name, "__dict__") &&
      _PyType_Lookup(Py_TYPE(type), name) == _PyType_Lookup(&PyType_Type, name))
    return names_of_class(type);
  if (is_enum_class(type)) {
    PyObject* member = need(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
    keep(member);
    return member;
  }
  bool is_written = false;
  PyObject* found = class_lookup(type, name, is_written);
  PyObject* of_meta = _PyType_Lookup(Py_TYPE(type), name);
  if (is_written) return Py_NewRef(found);
  const bool is_meta = of_meta != nullptr && (found == nullptr || is_data_descriptor(of_meta));
  if (is_meta || found == nullptr) {
    auto* object = reinterpret_cast<PyObject*>(type);
    // What a class statement of the metaclass holds.
    if (of_meta != nullptr && (is_property(of_meta) || PyFunction_Check(of_meta) ||
                               Py_TYPE(of_meta)->tp_descr_get == nullptr))
      return bind(of_meta, object, Py_TYPE(type), name);
    if (Py_TYPE(type) != &PyType_Type && found == nullptr && of_meta == nullptr) {
      static PyObject* const fallback = interned("__getattr__");
      PyObject* getter = _PyType_Lookup(Py_TYPE(type), fallback);
      if (getter == nullptr || !PyFunction_Check(getter))
        throw Break{"an attribute of a class that its class makes up"};
      return call_nested(getter, {object, name});
    }
    Owned value(need(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name)));
    const bool is_shown = PyUnicode_Check(value.get()) || PyType_Check(value.get()) ||
                          PyTuple_Check(value.get()) || PyCFunction_Check(value.get()) ||
                          Py_IS_TYPE(value.get(), &PyMethodDescr_Type) || value.get() == Py_None;
    if (!is_shown) throw Break{"an attribute of a class"};
    // A class may get another name without getting another version.
    if (PyUnicode_Check(value.get()) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE))
      return import(value.get(), sources_.of(Step::Member, pin(object), 0, name));
    return value.release();
  }
  return bind(found, nullptr, type, name);
}

// What a class has itself. Those of C keep it with the interpreter since Python 3.12.
static Owned own_names(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030C0000
  return Owned(PyType_GetDict(type));
#else
  return Owned(Py_XNewRef(type->tp_dict));
#endif
}

// A value that an attribute of a class gives as it is, to its instances, too.
static bool is_plain_value(PyObject* value) {
  return value == nullptr || Py_TYPE(value)->tp_descr_get == nullptr;
}

PyObject* Capture::class_lookup(PyTypeObject* type, PyObject* name, bool& is_written) {
  is_written = false;
  check_unwritten_class(type, name);
  if (class_writes_.empty()) return _PyType_Lookup(type, name);
  bool is_deleted = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    const auto write =
        std::find_if(class_writes_.begin(), class_writes_.end(), [&](const ClassWrite& w) {
          return w.type == base && PyUnicode_Compare(w.name, name) == 0;
        });
    if (write == class_writes_.end()) {
      const Owned names = own_names(base);
      const int is_there = names ? PyDict_Contains(names.get(), name) : 0;
      need(is_there);
      if (!is_there) continue;
      if (!is_deleted) return _PyType_Lookup(type, name);
      // The program's class still has another.
      PyObject* found = need(PyDict_GetItemWithError(names.get(), name));
      if (!is_plain_value(found)) throw Break{"what a base has behind a deleted attribute"};
      const int place = pin(reinterpret_cast<PyObject*>(base));
      check_class(base);
      Owned value(import(found, sources_.of(Step::TypeLookup, place, 0, name)));
      keep(value.get());
      is_written = true;
      return value.get();
    } else if (write->value) {
      is_written = true;
      return write->value.get();
    } else {
      is_deleted = true;
    }
  }
  return nullptr;
}

// Classes whose attributes are set as those of most classes, and values that are nothing but data:
// guards of classes look at all others (Note [Guards of classes]).
void Capture::set_class_attribute(PyTypeObject* type, PyObject* name, PyObject* value) {
  const char* text = PyUnicode_AsUTF8(name);
  const bool is_special = text == nullptr || std::strncmp(text, "__", 2) == 0;
  bool is_written = false;
  PyObject* former = class_lookup(type, name, is_written);
  PyObject* of_meta = _PyType_Lookup(Py_TYPE(type), name);
  auto* object = reinterpret_cast<PyObject*>(type);
  if (of_meta != nullptr && is_property(of_meta) &&
      Py_TYPE(type)->tp_setattro == PyType_Type.tp_setattro) {
    check_class(type);
    return call_setter(of_meta, object, value);
  }
  if (is_special || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || is_enum_class(type) ||
      Py_TYPE(type)->tp_setattro != PyType_Type.tp_setattro || !is_plain_value(value) ||
      !is_plain_value(former) || (of_meta != nullptr && is_data_descriptor(of_meta)))
    throw Break{"a write to an attribute of " + name_of(object)};
  check_class(type);
  const auto write = std::find_if(
      class_writes_.begin(), class_writes_.end(),
      [&](const ClassWrite& w) { return w.type == type && PyUnicode_Compare(w.name, name) == 0; });
  const int was_there = PyDict_Contains(type->tp_dict, name);
  need(was_there);
  const bool is_own = write != class_writes_.end() ? static_cast<bool>(write->value) : was_there;
  // What a base has stays.
  if (value == nullptr && !is_own) raise_undeletable(reinterpret_cast<PyObject*>(type), name);
  if (is_own && is_noticed(former))
    throw Break{std::string("the end of an object of class ") + Py_TYPE(former)->tp_name};
  if (write != class_writes_.end()) {
    write->value = Owned(Py_XNewRef(value));
    return;
  }
  keep(reinterpret_cast<PyObject*>(type));
  keep(name);
  class_writes_.push_back({type, name, Owned(Py_XNewRef(value))});
}

}  // namespace taeda::dynamo
