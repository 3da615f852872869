// Attributes of stand-ins: found as objects find them, with guards on every place that was looked
// at. Properties and __getattr__ are called; their frames come back through the hook.
#include <structmember.h>

#include <algorithm>
#include <cstring>

#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/attribute_kinds.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

// What __slots__ of a class statement make.
bool is_slot(PyObject* found) {
  return found != nullptr && Py_IS_TYPE(found, &PyMemberDescr_Type) &&
         reinterpret_cast<PyMemberDescrObject*>(found)->d_member->type == T_OBJECT_EX;
}

// Whether what the class has by that name is the wrapper of the slot that every object has.
bool has_wrapper_of(PyTypeObject* type, const char* text, void* slot) {
  Owned name(need(interned(text)));
  PyObject* found = _PyType_Lookup(type, name.get());
  return found != nullptr && Py_IS_TYPE(found, &PyWrapperDescr_Type) &&
         reinterpret_cast<PyWrapperDescrObject*>(found)->d_wrapped == slot;
}

// Whether the class finds attributes as every object does, but for __getattr__.
bool finds_plainly(PyTypeObject* type) {
  return type->tp_getattro == PyObject_GenericGetAttr || is_thread_local(type) ||
         has_wrapper_of(type, "__getattribute__", reinterpret_cast<void*>(PyObject_GenericGetAttr));
}

// The same of writes, but for a __setattr__ of Python, which is called.
bool sets_plainly(PyTypeObject* type) {
  if (type->tp_setattro == PyObject_GenericSetAttr || is_thread_local(type)) return true;
  for (const char* text : {"__setattr__", "__delattr__"}) {
    if (has_wrapper_of(type, text, reinterpret_cast<void*>(PyObject_GenericSetAttr))) continue;
    Owned name(need(interned(text)));
    PyObject* found = _PyType_Lookup(type, name.get());
    if (found == nullptr || !PyFunction_Check(found)) return false;
  }
  return true;
}

}  // namespace

bool shows_attributes(PyTypeObject* type) {
  if (is_namespace(type) || is_thread_local(type)) return true;
  const bool has_dict = type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
  return has_dict && finds_plainly(type) && sets_plainly(type) && !is_python_generator_class(type);
}

bool is_enum_class(PyTypeObject* type) {
  static Loaded meta("enum", "EnumMeta");
  return meta.get() != nullptr && PyType_IsSubtype(Py_TYPE(type), meta.type());
}

// A field of C that the program cannot write, as its class shows it; null for other attributes.
static Owned shown_field(PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject* found = _PyType_Lookup(type, name);
  if (found == nullptr || !Py_IS_TYPE(found, &PyMemberDescr_Type)) return Owned();
  if (!(reinterpret_cast<PyMemberDescrObject*>(found)->d_member->flags & READONLY)) return Owned();
  Owned field(PyObject_GenericGetAttr(object, name));
  if (!field) PyErr_Clear();
  if (!field || finds_plainly(type)) return field;
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) return Owned();
  // Some classes of C answer a few names in another way (types.UnionType).
  const SessionScope natively(nullptr);
  Owned shown(PyObject_GetAttr(object, name));
  if (!shown) PyErr_Clear();
  return shown.get() == field.get() ? std::move(field) : Owned();
}

PyObject* Capture::call_nested(PyObject* function, std::vector<PyObject*> arguments) {
  if (PyFunction_Check(function) && recorder_.kind_of(function) == CallKind::Unknown)
    throw Break{"call of a function that is left alone"};
  taker_ = Taker::Capture;
  PyObject* result = PyObject_Vectorcall(function, arguments.data(), arguments.size(), nullptr);
  taker_ = Taker::C;
  return need(result);
}

// A special method that the program gave a class: a function, or a method of C under another name
// (`__setattr__ = dict.__setitem__`), which a function calls for C.
PyObject* Capture::call_special(PyObject* method, std::vector<PyObject*> arguments) {
  if (PyFunction_Check(method)) return call_nested(method, std::move(arguments));
  if (!Py_IS_TYPE(method, &PyWrapperDescr_Type) && !Py_IS_TYPE(method, &PyMethodDescr_Type))
    throw Break{"a special method that is no function"};
  return call_nested(in_function(method), std::move(arguments));
}

// Members of enumerations are constants; what the program gave them as attributes may change.
void Capture::note_member(PyObject* object) {
  if (find(object) == nullptr && is_enum_class(Py_TYPE(object)))
    Py_DECREF(note_outside(object, pin(object)));
}

// The stand-in of an instance's __dict__; null where it has none. Borrowed.
PyObject* Capture::attributes_of(PyObject* object) {
  Outside* outside = find(object);
  if (outside == nullptr) {
    Owned dict(PyObject_GenericGetDict(object, nullptr));
    if (!dict) PyErr_Clear();
    return dict.get();
  }
  if (outside->attributes != nullptr) return outside->attributes;
  PyObject* real = outside->original != nullptr ? outside->original : object;
  const bool is_by_thread = is_thread_local(Py_TYPE(real));
  Owned dict(is_by_thread ? PyObject_GetAttrString(real, "__dict__")
                          : PyObject_GenericGetDict(real, nullptr));
  if (!dict) {
    PyErr_Clear();
    return nullptr;
  }
  Owned twin(import(dict.get(), sources_.of(is_by_thread ? Step::ThreadDict : Step::InstanceDict,
                                            outside->source)));
  return find(object)->attributes = twin.get();
}

PyObject* Capture::attribute(PyObject* object, PyObject* name) {
  if (recorder_.is_value(object)) return tensor_attribute(object, name);
  if (PyObject* referent = referent_of(object)) return attribute(referent, name);
  if (PyModule_CheckExact(object)) {
    PyObject* names = attributes_of(object);
    // Packages make attributes when they are first asked for, and keep them.
    PyObject* real = PyModule_GetDict(object);
    const int is_there = PyDict_Contains(real, name);
    need(is_there);
    static PyObject* const maker = interned("__getattr__");
    Owned made;
    if (!is_there) {
      const SessionScope natively(nullptr);
      made = Owned(PyObject_GetAttr(object, name));
      if (!made) {
        Owned raised(taeda_take_raised());
        dict_get(names, name);  // which is guarded
        dict_get(names, maker);
        taeda_set_raised(raised.release());
        throw Raised{};
      }
    }
    if (PyObject* found = dict_get(names, name)) return Py_NewRef(found);
    // Made anew at every look: functions and classes are taken for the same, as long as the same
    // function makes them; what makes a value is captured.
    PyObject* getter = dict_get(names, maker);
    if (made && (is_immutable(made.get()) || !PyCallable_Check(made.get())) && getter != nullptr &&
        PyFunction_Check(getter))
      return call_nested(getter, {name});
    if (!made || !PyCallable_Check(made.get())) throw Break{"an attribute that a module makes up"};
    Py_DECREF(note_outside(made.get(), pin(made.get())));
    return made.release();
  }
  if (PyType_Check(object)) return class_attribute(reinterpret_cast<PyTypeObject*>(object), name);
  if (is_operator(object)) {
    const SessionScope natively(nullptr);
    Owned found(need(PyObject_GetAttr(object, name)));
    // Namespaces keep what they made, until the program puts something else there.
    Owned names(PyObject_GenericGetDict(object, nullptr));
    PyErr_Clear();
    const Outside* outside = find(object);
    if (names && outside != nullptr && outside->source >= 0 &&
        PyDict_GetItem(names.get(), name) == found.get()) {
      const int dict = sources_.of(Step::InstanceDict, outside->source);
      return import(found.get(), sources_.of(Step::Item, dict, 0, name));
    }
    if (!is_immutable(found.get())) Py_DECREF(note_outside(found.get(), pin(found.get())));
    return found.release();
  }
  // Its attributes are known, what C does with them is not.
  if (is_opaque(object) && find(object)->source >= 0 && shows_attributes(Py_TYPE(object)))
    return instance_attribute(object, name);
  if (hooks_.contains(object) && is_named(name, "remove")) {
    static PyObject* const remove = imported("taeda.compiler._capture", "remove_hook");
    return need(PyMethod_New(remove, object));
  }
  if (is_opaque(object)) {
    // A method is no more than its object; what it does is asked when it is called.
    PyTypeObject* type = Py_TYPE(object);
    if (find(object)->source >= 0) {
      if (Owned field = shown_field(object, name)) {
        check_class(type);
        return import(field.get(), sources_.of(Step::Member, find(object)->source, 0, name));
      }
    }
    PyObject* found = finds_plainly(type) ? _PyType_Lookup(type, name) : nullptr;
    const bool is_method = found != nullptr &&
                           (Py_IS_TYPE(found, &PyMethodDescr_Type) ||
                            (PyFunction_Check(found) && is_python_generator(object))) &&
                           find(object)->source >= 0;
    if (!is_method) throw Break{std::string("an attribute of ") + type->tp_name};
    check_class(type);
    // Methods that know their class need the object's.
    return need(Py_TYPE(found)->tp_descr_get(found, object, reinterpret_cast<PyObject*>(type)));
  }
  if (PyFunction_Check(object)) return function_attribute(object, name);
  // What a method has not itself is its function's.
  if (PyMethod_Check(object) && _PyType_Lookup(&PyMethod_Type, name) == nullptr)
    return attribute(PyMethod_GET_FUNCTION(object), name);
  if (Py_IS_TYPE(object, &PySuper_Type)) {
    Owned type(need(PyObject_GetAttrString(object, "__thisclass__")));
    Owned self(need(PyObject_GetAttrString(object, "__self__")));
    if (PyObject* data = super_data(type.get(), self.get(), name)) return data;
  }
  if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    if (twin_of(object) != nullptr && is_named(name, "__class__"))
      return Py_NewRef(Py_TYPE(object));
    return need(PyObject_GetAttr(object, name));
  }
  return instance_attribute(object, name);
}

PyObject* Capture::super_data(PyObject* type, PyObject* object, PyObject* name) {
  if (!PyType_Check(type) || object == Py_None || recorder_.is_value(object)) return nullptr;
  auto* self = reinterpret_cast<PyTypeObject*>(object);
  if (!PyType_Check(object) || !PyType_IsSubtype(self, reinterpret_cast<PyTypeObject*>(type)))
    self = Py_TYPE(object);
  bool is_behind = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->tp_mro); ++i) {
    PyObject* base = PyTuple_GET_ITEM(self->tp_mro, i);
    if (!is_behind) {
      is_behind = base == type;
      continue;
    }
    PyObject* names = reinterpret_cast<PyTypeObject*>(base)->tp_dict;
    PyObject* found = names == nullptr ? nullptr : PyDict_GetItemWithError(names, name);
    if (found == nullptr && PyErr_Occurred()) throw Raised{};
    bool is_written = false;
    check_unwritten_class(reinterpret_cast<PyTypeObject*>(base), name);
    if (!class_writes_.empty())
      class_lookup(reinterpret_cast<PyTypeObject*>(base), name, is_written);
    if (is_written) throw Break{"data behind super() that the program wrote"};
    if (found == nullptr) continue;
    if (Py_TYPE(found)->tp_descr_get != nullptr) return nullptr;
    check_class(self);
    return import(found, sources_.of(Step::TypeLookup, pin(base), 0, name));
  }
  return nullptr;
}

// Python 3.12: super().name without an object of super.
Flow Capture::load_super_attr(State& state, int argument) {
  PyObject* object = state.peek(1);
  if (is_opaque(object)) throw Break{std::string("an operation on ") + Py_TYPE(object)->tp_name};
  open(object);
  const bool is_plain = state.peek(3) == reinterpret_cast<PyObject*>(&PySuper_Type);
  Owned data(is_plain ? super_data(state.peek(2), object, state.name(argument >> 2)) : nullptr);
  if (!data) return state.now->handler(state, argument);
  for (int i = 0; i < 3; ++i) Py_DECREF(state.pop());
  if (argument & 1)
    state.push_callable(data.release(), nullptr);
  else
    state.push(data.release());
  return Flow::Next;
}

PyObject* Capture::function_attribute(PyObject* object, PyObject* name) {
  if (find(object) == nullptr) return need(PyObject_GetAttr(object, name));
  if (is_named(name, "__dict__")) {
    if (PyObject* names = attributes_of(object)) return Py_NewRef(names);
  }
  if (is_named(name, "__annotations__")) {
    Owned annotations(need(PyObject_GetAttr(object, name)));
    return Py_NewRef(pinned_dict(annotations.get(), "__annotations__"));
  }
  if (_PyType_Lookup(&PyFunction_Type, name) != nullptr) {
    Owned value(need(PyObject_GetAttr(object, name)));
    // Methods of functions, f.__get__
    if (!is_immutable(value.get()) && _PyType_Lookup(&PyFunction_Type, name) != nullptr &&
        Py_IS_TYPE(_PyType_Lookup(&PyFunction_Type, name), &PyWrapperDescr_Type))
      return value.release();
    if (PyCode_Check(value.get())) return value.release();  // functions are known by their code
    // Names of keywords and globals, and tuples: signatures look at __defaults__.
    if (!is_immutable(value.get()) && !PyTuple_Check(value.get()) &&
        !PyDict_CheckExact(value.get()))
      throw Break{"an attribute of a function"};
    return import(value.get(), sources_.of(Step::Member, find(object)->source, 0, name));
  }
  PyObject* names = attributes_of(object);
  PyObject* found = names == nullptr ? nullptr : dict_get(names, name);
  return found != nullptr ? Py_NewRef(found) : need(PyObject_GetAttr(object, name));
}

// An attribute of a member of an enumeration that its class gave it; null for others. Borrowed.
static PyObject* own_of_member(PyObject* member, PyObject* name) {
  if (PyUnicode_GET_LENGTH(name) == 0 || PyUnicode_READ_CHAR(name, 0) != '_') return nullptr;
  Owned names(PyObject_GenericGetDict(member, nullptr));
  PyObject* own = names ? PyDict_GetItemWithError(names.get(), name) : nullptr;
  if (own == nullptr) PyErr_Clear();
  return own != nullptr && is_immutable(own) ? own : nullptr;
}

// As objects of a class that is shown by this name say it, whatever stands for this one.
[[noreturn]] static void raise_no_attribute(const Owned& shown, PyObject* object, PyObject* name) {
  Owned text(
      need(PyUnicode_FromFormat("'%.100U' object has no attribute '%U'", shown.get(), name)));
  Owned args(need(PyTuple_Pack(1, text.get())));
  Owned kwargs(need(Py_BuildValue("{sOsO}", "name", name, "obj", object)));
  Owned error(need(PyObject_Call(PyExc_AttributeError, args.get(), kwargs.get())));
  PyErr_SetObject(PyExc_AttributeError, error.get());
  throw Raised{.is_exact = true};
}

[[noreturn]] static void raise_no_attribute(PyTypeObject* type, PyObject* object, PyObject* name) {
  raise_no_attribute(Owned(need(PyUnicode_FromString(_PyType_Name(type)))), object, name);
}

// `is_plain`: as object.__getattribute__ does.
PyObject* Capture::instance_attribute(PyObject* object, PyObject* name, bool is_plain) {
  PyTypeObject* type = Py_TYPE(object);
  check_class(type);
  if (!is_plain && !finds_plainly(type)) {
    static PyObject* const getter_name = interned("__getattribute__");
    PyObject* getter = _PyType_Lookup(type, getter_name);
    if (getter == nullptr || !PyFunction_Check(getter))
      throw Break{"a class with a __getattribute__ of its own"};
    // Looked for now: under an exception a lookup finds nothing, and clears it.
    static PyObject* const fallback_name = interned("__getattr__");
    PyObject* fallback = _PyType_Lookup(type, fallback_name);
    try {
      return call_nested(getter, {object, name});
    } catch (const Raised&) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError) || fallback == nullptr || is_broken_) throw;
      PyErr_Clear();
      return call_nested(fallback, {object, name});
    }
  }
  if (is_named(name, "__class__")) return Py_NewRef(type);
  if (is_enum_class(type)) {
    // _value_, _name_ and others of the enumeration's own stay.
    if (PyObject* own = own_of_member(object, name)) return Py_NewRef(own);
    note_member(object);
  }
  Outside* outside = find(object);
  if (is_named(name, "__dict__")) {
    PyObject* names = attributes_of(object);
    if (names != nullptr) return Py_NewRef(names);
  }
  static PyObject* const fallback = interned("__getattr__");
  PyObject* getter = is_plain ? nullptr : _PyType_Lookup(type, fallback);
  const auto bind_or_ask = [&](PyObject* descriptor) {
    try {
      return bind(descriptor, object, type, name);
    } catch (const Raised&) {
      if (getter == nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError) || is_broken_) throw;
      PyErr_Clear();
      return call_special(getter, {object, name});
    }
  };
  bool is_written = false;
  PyObject* found = class_lookup(type, name, is_written);
  // A class of descriptors says whether they come before the instance's own attributes.
  if (found != nullptr && !is_written) check_class(Py_TYPE(found));
  const bool comes_first = found != nullptr && !is_written && is_data_descriptor(found) &&
                           Py_TYPE(found)->tp_descr_get != nullptr;
  if (comes_first) {
    if (Py_IS_TYPE(found, &PyMemberDescr_Type)) {
      // A field of a struct sequence is a stand-in itself.
      if (outside == nullptr || PyTuple_Check(object)) {
        PyObject* field = need(PyObject_GenericGetAttr(object, name));
        read_found(object, field);
        return field;
      }
      return slot_of(object, outside->original, outside->source, name);
    }
    return bind_or_ask(found);
  }
  if (PyObject* names = attributes_of(object)) {
    if (PyObject* own = dict_get(names, name)) return Py_NewRef(own);
  }
  if (is_written) return Py_NewRef(found);
  if (found != nullptr) return bind_or_ask(found);
  if (getter != nullptr) return call_special(getter, {object, name});
  Owned unexpected(PyObject_GenericGetAttr(object, name));
  // Of an object of the program, from which the capture deleted it.
  if (unexpected && attributes_of(object) != nullptr)
    raise_no_attribute(Owned(need(PyUnicode_FromString(type->tp_name))), object, name);
  if (unexpected) throw Break{"an attribute that appeared"};
  throw Raised{};
}

[[noreturn]] static void raise_empty_slot(PyTypeObject* type, PyObject* object, PyObject* name) {
#if PY_VERSION_HEX >= 0x030D0000
  raise_no_attribute(Owned(need(PyType_GetFullyQualifiedName(type))), object, name);
#else
  raise_no_attribute(type, object, name);
#endif
}

// What an object has in a slot of its class without the capture; null where it is empty.
static Owned slot_value(PyObject* real, PyObject* name) {
  Owned value(real == nullptr ? nullptr : PyObject_GenericGetAttr(real, name));
  if (!value) PyErr_Clear();
  return value;
}

// A slot of an object, as far as the captured program wrote it or as the program's object has it;
// `real` is null for objects of the capture, whose slots are empty at first.
PyObject* Capture::slot_of(PyObject* object, PyObject* real, int source, PyObject* name) {
  PyTypeObject* type = recorder_.is_value(object) ? recorder_.class_of(object) : Py_TYPE(object);
  check_unwritten_slot(object, name);
  if (PyObject* part = slot_of_wrapper(object, name)) return Py_NewRef(part);
  const auto written = members_.find({object, name});
  if (written != members_.end() && written->second) return Py_NewRef(written->second.get());
  if (written != members_.end() || real == nullptr) raise_empty_slot(type, object, name);
  slotted_.insert(source);
  const Owned value = slot_value(real, name);
  if (!value) {
    check(Check::Kind::NoMember, source, name);
    raise_empty_slot(type, object, name);
  }
  return import(value.get(), sources_.of(Step::Member, source, 0, name));
}

// Writes to a slot as they are at the end: one that was empty and is emptied again has none. A null
// value deletes.
void Capture::set_slot(PyObject* object, PyObject* real, int source, PyObject* name,
                       PyObject* value) {
  check_unwritten_slot(object, name);
  const std::pair place(object, name);
  const auto written = members_.find(place);
  const Owned before = slot_value(real, name);
  PyObject* former = written != members_.end() ? written->second.get() : before.get();
  if (former != nullptr && former != value && is_noticed(former))
    throw Break{std::string("the end of an object of class ") + Py_TYPE(former)->tp_name};
  keep(object);
  keep(name);
  if (real != nullptr) slotted_.insert(source);
  if (value == nullptr && real != nullptr)
    check(before ? Check::Kind::Member : Check::Kind::NoMember, source, name);
  if (value == nullptr && former == nullptr) {
    PyErr_SetObject(PyExc_AttributeError, name);
    throw Raised{.is_exact = true};
  }
  if (value != nullptr || before)
    members_[place] = Owned(Py_XNewRef(value));
  else
    members_.erase(place);
}

// The getter of a property: a function, or an object of the program that is called.
PyObject* Capture::call_getter(PyObject* getter, PyObject* object) {
  if (getter != nullptr && PyFunction_Check(getter)) return call_nested(getter, {object});
  if (getter != nullptr && is_partial(getter)) {
    Owned own(import(getter, pin(getter)));
    return need(PyObject_CallOneArg(own.get(), object));
  }
  static PyObject* const call_name = interned("__call__");
  PyTypeObject* type = getter == nullptr ? nullptr : Py_TYPE(getter);
  const bool is_plain = type != nullptr && is_plain_instance(type);
  PyObject* function = is_plain ? _PyType_Lookup(type, call_name) : nullptr;
  if (function == nullptr || !PyFunction_Check(function))
    throw Break{"a property without a function"};
  check_class(type);
  Owned own(import(getter, pin(getter)));
  return call_nested(function, {own.get(), object});
}

// `args` of exceptions, which C keeps.
static bool is_arguments_of_exceptions(PyObject* found) {
  return Py_IS_TYPE(found, &PyGetSetDescr_Type) &&
         PyDescr_TYPE(found) == reinterpret_cast<PyTypeObject*>(PyExc_BaseException) &&
         is_named(PyDescr_NAME(found), "args");
}

// What an attribute that was found in a class is for an object, or for the class where `object` is
// null.
PyObject* Capture::bind(PyObject* found, PyObject* object, PyTypeObject* type, PyObject* name) {
  const int source = sources_.of(Step::TypeLookup, pin(reinterpret_cast<PyObject*>(type)), 0, name);
  const descrgetfunc get = Py_TYPE(found)->tp_descr_get;
  if (get == nullptr) return import(found, source);
  if (PyFunction_Check(found)) {
    Owned function(import(found, source));
    return object == nullptr ? function.release() : need(PyMethod_New(function.get(), object));
  }
  if (is_property(found)) {
    if (object == nullptr) return note_outside(found, source, true);
    Owned getter(PyObject_GetAttrString(found, "fget"));
    return call_getter(getter.get(), object);
  }
  if (cached_function_of(found) != nullptr) {
    Owned cached(note_outside(found, source, /*is_opaque=*/true));
    return object == nullptr ? cached.release() : need(PyMethod_New(found, object));
  }
  const bool is_wrapped =
      Py_IS_TYPE(found, &PyStaticMethod_Type) || Py_IS_TYPE(found, &PyClassMethod_Type);
  if (is_wrapped) {
    Owned function(need(PyObject_GetAttrString(found, "__func__")));
    Owned own(import(function.get(), pin(function.get())));
    if (Py_IS_TYPE(found, &PyStaticMethod_Type)) return own.release();
    return need(PyMethod_New(own.get(), reinterpret_cast<PyObject*>(type)));
  }
  // Functions of C, and descriptors of Python, whose frames come back through the hook.
  const bool is_native = !(Py_TYPE(found)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  // Fields of named tuples read their tuple, which holds stand-ins.
  const bool is_field = object != nullptr && PyTuple_Check(object);
  if (is_native && is_data_descriptor(found) && !is_field && object != nullptr &&
      find(object) != nullptr && twin_of(object) == nullptr) {
    if (!is_arguments_of_exceptions(found)) throw Break{"an attribute that C computes"};
    Owned value(need(get(found, object, nullptr)));
    return import(value.get(), sources_.of(Step::Member, find(object)->source, 0, name));
  }
  if (!is_native && !is_field) {
    Owned descriptor(import(found, source));
    if (is_opaque(descriptor.get())) throw Break{"a descriptor of C"};
  }
  PyObject* value = need(get(found, object, reinterpret_cast<PyObject*>(type)));
  if (is_field) read_found(object, value);
  return value;
}

PyObject* Capture::tensor_attribute(PyObject* object, PyObject* name) {
  if (is_named(name, "__class__")) return Py_NewRef(recorder_.class_of(object));
  if (!recorder_.is_tensor_value(object)) {
    // Symbols have what numbers of every version of Python have, and names of their own.
    PyTypeObject* type = recorder_.class_of(object);
    if (_PyType_Lookup(type, name) == nullptr) raise_no_attribute(type, object, name);
    return need(PyObject_GetAttr(object, name));
  }
  int source = -1;
  PyObject* real = recorder_.real_of(object, &source);
  if (is_named(name, "grad")) {
    if (recorder_.is_subclass(object) || !recorder_.overrides().modes.empty())
      throw Break{"the gradient of a tensor whose class or mode is asked"};
    if (const auto written = grads_.find(object); written != grads_.end())
      return Py_NewRef(written->second.get());
    if (real == nullptr && !recorder_.requires_grad(object)) return Py_NewRef(Py_None);
    if (real == nullptr) throw Break{"the gradient of a result"};
    const int path = sources_.of(Step::Grad, source);
    std::vector<Owned> held;
    PyObject* grad = need(follow(sources_[path], real, held));
    return import(grad, path);
  }
  const bool is_of_grad = is_named(name, "grad_fn") || is_named(name, "is_leaf");
  // Parameters are leaves.
  if (is_of_grad &&
      (!recorder_.requires_grad(object) || recorder_.is_parameter(object) || real == nullptr)) {
    if (!recorder_.requires_grad(object) && is_named(name, "grad_fn")) return Py_NewRef(Py_None);
    return need(PyObject_GetAttr(object, name));
  }
  if (is_named(name, "is_leaf")) return PyBool_FromLong(recorder_.is_leaf(object));
  if (is_of_grad && recorder_.is_leaf(object)) return Py_NewRef(Py_None);
  if (real != nullptr && is_named(name, "retains_grad")) {
    Owned now(need(PyObject_GetAttr(real, name)));
    return import(now.get(), sources_.of(Step::Member, source, 0, name));
  }
  if (is_of_grad || is_named(name, "__dict__") || is_named(name, "_version") ||
      is_named(name, "_base") || is_named(name, "output_nr"))
    throw Break{"an attribute of a tensor that only a run tells"};
  PyTypeObject* type = recorder_.class_of(object);
  if (is_slot(_PyType_Lookup(type, name))) {
    check_class(type);
    Owned value(slot_of(object, real, source, name));
    return recorder_.is_wrapper(object) ? part_of(object, name, value.get()) : value.release();
  }
  static PyObject* const reader = interned("__getattribute__");
  if (PyFunction_Check(_PyType_Lookup(type, reader)))
    throw Break{"a class of tensors with a __getattribute__ of its own"};
  if (PyObject* own = own_part_of(object, name)) return Py_NewRef(own);
  if (PyObject* own = program_ == nullptr && real != nullptr ? new_part_of(object, name) : nullptr)
    return part_of(object, name, own);
  if (PyObject* own = own_attribute_of_tensor(object, type, name))
    return recorder_.is_wrapper(object) ? part_of(object, name, own) : Py_NewRef(own);
  bool is_written = false;
  PyObject* found = class_lookup(Py_TYPE(object), name, is_written);
  if (is_written) return Py_NewRef(found);
  PyObject* plain = _PyType_Lookup(recorder_.plain_class(), name);
  // What the program's class says.
  if (found != nullptr && found != plain && type == Py_TYPE(object))
    return bind(found, object, type, name);
  // What the class of stand-ins has of its own the program does not see. By its own tolist it takes
  // element by element, where these may be values of the graph.
  const bool takes_elements = is_named(name, "tolist") && recorder_.takes_numbers();
  if (plain != nullptr && found != plain && !takes_elements) {
    const descrgetfunc get = Py_TYPE(plain)->tp_descr_get;
    auto* owner = reinterpret_cast<PyObject*>(recorder_.plain_class());
    return get == nullptr ? Py_NewRef(plain) : need(get(plain, object, owner));
  }
  const bool is_of_class = _PyType_Lookup(type, name) != nullptr;
  static PyObject* const maker = interned("__getattr__");
  if (!is_of_class && _PyType_Lookup(type, maker) == nullptr)
    raise_no_attribute(type, object, name);
  return need(PyObject_GetAttr(object, name));
}

// What a tensor itself has by a name; null where it has nothing, or its class comes first. That
// nobody gives a plain tensor an attribute by the name of a method later is no guard. Borrowed.
PyObject* Capture::own_attribute_of_tensor(PyObject* object, PyTypeObject* type, PyObject* name) {
  PyObject* of_class = _PyType_Lookup(type, name);
  if (of_class != nullptr && is_data_descriptor(of_class)) return nullptr;
  if (of_class != nullptr && type != Py_TYPE(object)) {
    int source = -1;
    PyObject* real = recorder_.real_of(object, &source);
    PyObject** dict = _PyObject_GetDictPtr(real != nullptr ? real : object);
    if (dict == nullptr || *dict == nullptr) return nullptr;
    const int is_there = PyDict_Contains(*dict, name);
    need(is_there);
    if (!is_there) return nullptr;
  }
  PyObject* names = tensor_attributes_of(object);
  return names != nullptr ? dict_get(names, name) : nullptr;
}

// What a program gave a tensor as attributes: those of the program's tensor, or of a result.
PyObject* Capture::tensor_attributes_of(PyObject* object) {
  int source = -1;
  PyObject* real = recorder_.real_of(object, &source);
  Owned dict(PyObject_GenericGetDict(real != nullptr ? real : object, nullptr));
  if (!dict) PyErr_Clear();
  if (!dict || real == nullptr) return dict.get();
  Owned twin(import(dict.get(), sources_.of(Step::InstanceDict, source)));
  return twin.get();
}

// Of a property, for an object or a class whose class has it.
void Capture::call_setter(PyObject* property, PyObject* object, PyObject* value) {
  Owned method(need(PyObject_GetAttrString(property, value == nullptr ? "fdel" : "fset")));
  if (!PyFunction_Check(method.get())) throw Break{"a write to an attribute with a descriptor"};
  const Owned done(value == nullptr ? call_nested(method.get(), {object})
                                    : call_nested(method.get(), {object, value}));
}

bool Capture::is_truth_value(PyObject* value) {
  return PyBool_Check(value) || python::is_symbool(value);
}

bool Capture::need_truth(PyObject* value) {
  const int truth = PyObject_IsTrue(value);
  if (truth < 0) throw Raised{};
  return truth == 1;
}

bool Capture::set_requires_grad(PyObject* tensor, bool wanted) {
  if (recorder_.requires_grad(tensor) == wanted) return true;
  if (!recorder_.set_requires_grad(tensor, wanted)) return false;
  if (!recorder_.records()) return true;  // the rehearsal's own
  ++writes_;
  keep(tensor);
  requires_grad_[tensor] = wanted;
  return true;
}

// `is_plain`: as object.__setattr__ does. A null value deletes.
void Capture::set_attribute(PyObject* object, PyObject* name, PyObject* value, bool is_plain) {
  if (PyObject* referent = referent_of(object))
    return set_attribute(referent, name, value, is_plain);
  ++writes_;
  static PyObject* const setter_name = interned("__setattr__");
  static PyObject* const deleter_name = interned("__delattr__");
  if (recorder_.is_tensor_value(object) && !is_plain) {
    PyTypeObject* type = recorder_.class_of(object);
    PyObject* setter = _PyType_Lookup(type, value == nullptr ? deleter_name : setter_name);
    if (PyFunction_Check(setter)) {
      check_class(type);
      Owned done(value == nullptr ? call_nested(setter, {object, name})
                                  : call_nested(setter, {object, name, value}));
      return;
    }
  }
  const bool is_outside = program_ != nullptr && recorder_.is_tensor_value(object);
  if (is_outside &&
      (is_named(name, "grad") || is_named(name, "data") || is_named(name, "requires_grad")))
    throw Break{"a write to an attribute of a tensor"};
  if (is_named(name, "grad") && value != nullptr && recorder_.is_tensor_value(object) &&
      (value == Py_None || recorder_.is_tensor_value(value))) {
    if (value != Py_None && !recorder_.check_grad(object, value)) throw Raised{};
    keep(object);
    grads_[object] = Owned(Py_NewRef(value));
    return;
  }
  if (is_named(name, "data") && value != nullptr && recorder_.is_tensor_value(object) &&
      recorder_.is_tensor_value(value)) {
    // Calls behind the graph see what was written at the end.
    if (!effects_.empty()) throw Break{"a write to an attribute of a tensor"};
    Owned data(need(recorder_.set_data(object, value)));
    int source = -1;
    if (recorder_.real_of(object, &source) == nullptr) return;  // a result has it in the graph
    keep(object);
    std::erase_if(data_, [&](const auto& written) { return written.first == object; });
    data_.emplace_back(object, std::move(data));
    return;
  }
  // Of a tensor that is no leaf it is an error, whatever the value.
  if (is_named(name, "requires_grad") && value != nullptr && is_truth_value(value) &&
      recorder_.is_tensor_value(object) && recorder_.is_leaf(object) &&
      set_requires_grad(object, need_truth(value)))
    return;
  if (recorder_.is_value(object)) {
    PyTypeObject* type = recorder_.class_of(object);
    PyObject* found = _PyType_Lookup(type, name);
    if (found != nullptr && is_property(found)) {
      const char* const part = value == nullptr ? "fdel" : "fset";
      Owned method(need(PyObject_GetAttrString(found, part)));
      if (!PyFunction_Check(method.get())) throw Break{"a write to an attribute of a tensor"};
      check_class(type);
      Owned done(value == nullptr ? call_nested(method.get(), {object})
                                  : call_nested(method.get(), {object, value}));
      return;
    }
    if (is_slot(found)) {
      check_class(type);
      int source = -1;
      PyObject* real = recorder_.real_of(object, &source);
      if (recorder_.is_wrapper(object)) return set_part(object, name, value);
      if (program_ == nullptr) recorder_.note_attribute(object);
      return set_slot(object, real, source, name, value);
    }
    PyObject* of_stand_in = _PyType_Lookup(Py_TYPE(object), name);
    const bool is_of_class = (found != nullptr && is_data_descriptor(found)) ||
                             (of_stand_in != nullptr && is_data_descriptor(of_stand_in));
    const bool is_own = recorder_.is_tensor_value(object) && !is_of_class;
    PyObject* names = is_own ? tensor_attributes_of(object) : nullptr;
    if (names == nullptr) throw Break{"a write to an attribute of a tensor"};
    if (recorder_.is_wrapper(object)) return set_part(object, name, value);
    if (program_ == nullptr) recorder_.note_attribute(object);
    if (value != nullptr) {
      dict_set(names, name, value);
    } else if (!dict_delete(names, name)) {
      raise_undeletable(object, name);
    }
    return;
  }
  if (PyType_Check(object))
    return set_class_attribute(reinterpret_cast<PyTypeObject*>(object), name, value);
  const bool is_function = PyFunction_Check(object) && find(object) != nullptr;
  if ((is_opaque(object) && !shows_attributes(Py_TYPE(object))) ||
      (is_function && _PyType_Lookup(&PyFunction_Type, name) != nullptr))
    throw Break{std::string("a write to an attribute of ") + Py_TYPE(object)->tp_name};
  note_member(object);
  if (find(object) == nullptr) {
    need(is_plain ? PyObject_GenericSetAttr(object, name, value)
                  : PyObject_SetAttr(object, name, value));
    return;
  }
  PyTypeObject* type = Py_TYPE(object);
  check_class(type);
  PyObject* special = value == nullptr ? deleter_name : setter_name;
  PyObject* setter = _PyType_Lookup(type, special);
  const bool is_of_c = setter == nullptr || (Py_IS_TYPE(setter, &PyWrapperDescr_Type) &&
                                             PyDescr_NAME(setter) == special);
  if (!is_plain && !is_of_c) {
    Owned done(value == nullptr ? call_special(setter, {object, name})
                                : call_special(setter, {object, name, value}));
    return;
  }
  PyObject* found = _PyType_Lookup(type, name);
  if (found != nullptr && is_data_descriptor(found)) {
    Owned method(is_property(found)
                     ? PyObject_GetAttrString(found, value == nullptr ? "fdel" : "fset")
                     : nullptr);
    static PyObject* const set_name = interned("__set__");
    static PyObject* const delete_name = interned("__delete__");
    PyObject* set = _PyType_Lookup(Py_TYPE(found), value == nullptr ? delete_name : set_name);
    if (!method && set != nullptr && PyFunction_Check(set)) {
      PyErr_Clear();
      Owned descriptor(import(
          found, sources_.of(Step::TypeLookup, pin(reinterpret_cast<PyObject*>(type)), 0, name)));
      check_class(Py_TYPE(found));
      Owned done(value == nullptr ? call_nested(set, {descriptor.get(), object})
                                  : call_nested(set, {descriptor.get(), object, value}));
      return;
    }
    if (is_slot(found)) {
      PyErr_Clear();
      return set_slot(object, object, find(object)->source, name, value);
    }
    if (method.get() == Py_None) {  // C says so
      need(Py_TYPE(found)->tp_descr_set(found, object, value));
      return;
    }
    if (!method || !PyFunction_Check(method.get())) {
      PyErr_Clear();
      throw Break{"a write to an attribute with a descriptor"};
    }
    Owned done(value == nullptr ? call_nested(method.get(), {object})
                                : call_nested(method.get(), {object, value}));
    return;
  }
  // An error, which C says. Other classes of C may keep attributes elsewhere.
  if (type->tp_dictoffset == 0 && type->tp_setattro == PyObject_GenericSetAttr) {
    need(PyObject_GenericSetAttr(object, name, value));
    return;
  }
  PyObject* names = attributes_of(object);
  if (names == nullptr) throw Break{"a write to an attribute of an object without a __dict__"};
  if (value != nullptr) {
    dict_set(names, name, value);
  } else if (!dict_delete(names, name)) {
    raise_undeletable(object, name);
  }
}

}  // namespace taeda::dynamo
