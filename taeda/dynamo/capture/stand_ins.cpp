// Objects of the program and what stands for them during a capture; Note [Stand-ins].
#include <algorithm>

#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

bool is_duration(PyObject* object) {
  static Loaded type("datetime", "timedelta");
  return Py_TYPE(object) == type.type();
}

// Values that nothing can change, compared by value.
bool is_plain_constant(PyObject* object) {
  return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) ||
         PyBytes_CheckExact(object) || PyComplex_CheckExact(object) || PySlice_Check(object) ||
         PyRange_Check(object) || PyCode_Check(object) || Py_IS_TYPE(object, python::device_type) ||
         is_duration(object);
}

bool is_pattern(PyObject* object) {
  static Loaded pattern("re", "Pattern");
  return Py_TYPE(object) == pattern.type();
}

// Values that are compared by identity.
bool is_singleton(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || object == Py_Ellipsis ||
         object == Py_NotImplemented || is_pattern(object) ||
         Py_IS_TYPE(object, python::dtype_type) || Py_IS_TYPE(object, python::layout_type) ||
         Py_IS_TYPE(object, python::memory_format_type);
}

bool is_enum_member(PyObject* object) {
  static Loaded base("enum", "Enum");
  return base.get() != nullptr && PyType_IsSubtype(Py_TYPE(object), base.type());
}

bool is_bound_natively(PyObject* object) {
  PyObject* self = PyCFunction_Check(object) ? PyCFunction_GET_SELF(object) : nullptr;
  return self != nullptr && !PyModule_Check(self) && !PyType_Check(self);
}

// Keys that guards know by their values.
bool are_constants(PyObject* keys) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys, i);
    if (PyTuple_Check(key) ? !are_constants(key) : PyFunction_Check(key) || !is_known_key(key))
      return false;
  }
  return true;
}

bool is_twinned(PyObject* object) { return container_of(Py_TYPE(object)) != nullptr; }

}  // namespace

bool is_derived(PyTypeObject* type, PyTypeObject* base) {
  for (; type != base; type = type->tp_base) {
    if (type == nullptr || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
    if (!(type->tp_flags & Py_TPFLAGS_MANAGED_DICT) && type->tp_dictoffset == 0 &&
        reinterpret_cast<PyHeapTypeObject*>(type)->ht_slots == nullptr)
      return false;
  }
  return true;
}

bool is_native_function(PyObject* object) {
  return PyCFunction_Check(object) || Py_IS_TYPE(object, &PyMethodDescr_Type) ||
         Py_IS_TYPE(object, &PyWrapperDescr_Type) || Py_IS_TYPE(object, &PyClassMethodDescr_Type) ||
         Py_IS_TYPE(object, &PyGetSetDescr_Type) || Py_IS_TYPE(object, &PyMemberDescr_Type);
}

bool is_known_key(PyObject* key) {
  if (PyTuple_Check(key)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
      if (!is_known_key(PyTuple_GET_ITEM(key, i))) return false;
    return true;
  }
  return is_immutable(key) || PyType_Check(key) || PyFunction_Check(key) || is_native_function(key);
}

Owned keys_of(PyObject* dict) {
  Owned keys(need(PyODict_Check(dict) ? PyODict_Type.tp_iter(dict) : PyDict_Keys(dict)));
  return Owned(need(PySequence_Tuple(keys.get())));
}

bool is_lazy_dict(PyObject* object) {
  return PyDict_CheckExact(object) || PyODict_CheckExact(object) ||
         Py_IS_TYPE(object, defaultdict_type());
}

PyTypeObject* deque_type() {
  static PyTypeObject* const type = [] {
    Owned module(imported_module("collections"));
    return reinterpret_cast<PyTypeObject*>(module ? PyObject_GetAttrString(module.get(), "deque")
                                                  : nullptr);
  }();
  return type;
}

PyTypeObject* defaultdict_type() {
  static PyTypeObject* const type =
      reinterpret_cast<PyTypeObject*>(imported("collections", "defaultdict"));
  return type;
}

PyTypeObject* container_of(PyTypeObject* type) {
  for (PyTypeObject* base : {&PyList_Type, &PyODict_Type, &PyDict_Type, &PySet_Type})
    if (is_derived(type, base)) return base;
  if (type == deque_type() || type == defaultdict_type()) return type;
  return nullptr;
}

Owned plain_value(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (is_derived(type, &PyLong_Type)) return Owned(need(PyLong_Type.tp_as_number->nb_int(object)));
  if (is_derived(type, &PyFloat_Type))
    return Owned(need(PyFloat_FromDouble(PyFloat_AS_DOUBLE(object))));
  if (is_derived(type, &PyComplex_Type))
    return Owned(need(PyComplex_FromCComplex(reinterpret_cast<PyComplexObject*>(object)->cval)));
  if (is_derived(type, &PyBytes_Type))
    return Owned(
        need(PyBytes_FromStringAndSize(PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object))));
  if (is_derived(type, &PyFrozenSet_Type)) return Owned(need(PyFrozenSet_New(object)));
  return is_derived(type, &PyUnicode_Type) ? Owned(need(PyUnicode_FromObject(object))) : Owned();
}

// A class statement gives its classes a managed __dict__, or slots; classes that C makes have
// neither.
bool is_plain_instance(PyTypeObject* type) {
  for (; type != &PyBaseObject_Type; type = type->tp_base) {
    if (type == nullptr || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
    // Classes of C add nothing either where their instances are as large as those of their base, as
    // typing.Generic since Python 3.12.
    const bool has_more =
        type->tp_base == nullptr || type->tp_basicsize != type->tp_base->tp_basicsize;
    if (!(type->tp_flags & Py_TPFLAGS_MANAGED_DICT) && has_more &&
        reinterpret_cast<PyHeapTypeObject*>(type)->ht_slots == nullptr)
      return false;
  }
  return true;
}

PyTypeObject* namespace_type() {
  static PyTypeObject* const type =
      reinterpret_cast<PyTypeObject*>(imported("types", "SimpleNamespace"));
  return type;
}

bool is_namespace(PyTypeObject* type) { return is_derived(type, namespace_type()); }

bool is_thread_local(PyTypeObject* type) {
  static auto* const base = reinterpret_cast<PyTypeObject*>(imported("_thread", "_local"));
  return type->tp_init == PyBaseObject_Type.tp_init && is_derived(type, base);
}

bool is_partial(PyObject* object) {
  static PyObject* const type = imported("functools", "partial");
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type;
}

bool is_immutable(PyObject* object) {
  return is_plain_constant(object) || is_singleton(object) || is_enum_member(object);
}

Capture::Outside* Capture::find(PyObject* object) {
  const auto found = outside_.find(object);
  return found == outside_.end() ? nullptr : &found->second;
}

Capture::Twin* Capture::twin_of(PyObject* object) {
  Outside* outside = find(object);
  return outside == nullptr ? nullptr : outside->twin;
}

void Capture::check(Check::Kind kind, int source, PyObject* object, int64_t number) {
  if (object != nullptr) guards_.kept.emplace_back(Py_NewRef(object));
  guards_.checks.push_back({kind, source, object, number});
}

void Capture::check_pair(Check::Kind kind, int a, int b) {
  check(kind, std::max(a, b), nullptr, std::min(a, b));
}

// The values of these paths stay different objects.
void Capture::check_all_distinct(const std::set<int>& paths) {
  if (paths.size() < 2) return;
  check(Check::Kind::AllDistinct, *paths.rbegin(), nullptr,
        static_cast<int64_t>(guards_.groups.size()));
  guards_.groups.emplace_back(paths.begin(), paths.end());
}

// Nobody changes the class: neither its methods nor those of its bases, nor what its class says of
// it.
void Capture::check_class(PyTypeObject* type) {
  auto& checked = program_ != nullptr ? program_->checked_classes_ : checked_classes_;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !checked.insert(type).second) return;
  static PyObject* const any_name = PyUnicode_InternFromString("__init__");
  _PyType_Lookup(type, any_name);  // gives the class a version
  check(Check::Kind::TypeVersion, pin(reinterpret_cast<PyObject*>(type)), nullptr,
        static_cast<int64_t>(guards_.classes.size()));
  guards_.classes.push_back(ClassGuard::of(type, is_enum_class(type), guards_.kept));
  check_class(Py_TYPE(type));
}

int Capture::pin(PyObject* object) {
  const char* name = PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object)->tp_name
                                          : Py_TYPE(object)->tp_name;
  return sources_.pinned(object, name);
}

PyObject* Capture::note_outside(PyObject* real, int source, bool is_opaque) {
  keep(real);
  stand_ins_[real] = real;
  Outside& outside = outside_[real];
  outside.source = source;
  outside.original = real;
  outside.is_opaque = is_opaque;
  return Py_NewRef(real);
}

// Another object stands for `real` from now on; its reference is passed through.
PyObject* Capture::stand_for(PyObject* real, PyObject* made, int source) {
  keep(real);
  keep(made);
  stand_ins_[real] = made;
  outside_[made].source = source;
  outside_[made].original = real;
  return made;
}

// taeda.ops, its namespaces, and operators.
bool Capture::is_operator(PyObject* object) {
  const CallKind kind = recorder_.kind_of(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  return kind == CallKind::Namespace || kind == CallKind::Operators;
}

// The stand-in of an object that was read at `source`, with the guards that make it stand for what
// is there at other calls.
PyObject* Capture::import(PyObject* real, int source) {
  using Kind = Check::Kind;
  if (is_singleton(real) || is_enum_member(real)) {
    check(Kind::Is, source, real);
    return Py_NewRef(real);
  }
  if (PyLong_CheckExact(real) || PyFloat_CheckExact(real)) {
    if (PyObject* number = recorder_.import_number(real, source, sources_.text(source))) {
      keep(number);
      outside_[number].source = source;
      return number;
    }
    if (PyErr_Occurred()) throw Raised{};
  }
  if (PySlice_Check(real))
    if (PyObject* slice = import_slice(real, source)) return slice;
  if (is_plain_constant(real)) {
    check(Kind::Equal, source, real);
    if (PyLong_CheckExact(real)) note_large_number(real);
    return Py_NewRef(real);
  }
  if (const auto known = stand_ins_.find(real); known != stand_ins_.end()) {
    const int other = find(known->second)->source;
    if (other != source) check_pair(Kind::Same, source, other);
    return Py_NewRef(known->second);
  }
  if (is_operator(real)) {
    check(Kind::Is, source, real);
    return note_outside(real, source);
  }
  if (is_bound_natively(real)) return import_native_method(real, source);
  if (PyType_Check(real) || PyModule_CheckExact(real) || is_native_function(real)) {
    check(Kind::Is, source, real);
    if (PyType_Check(real)) check_class(Py_TYPE(real));  // which says what operators do
    return note_outside(real, source);
  }
  if (PyFunction_Check(real)) {
    PyObject* globals = PyFunction_GET_GLOBALS(real);
    guards_.kept.emplace_back(Py_NewRef(globals));
    check(Kind::Code, source, PyFunction_GET_CODE(real), reinterpret_cast<int64_t>(globals));
    return note_outside(real, source);
  }
  if (python::is_tensor(real) && program_ != nullptr)
    return stand_for(real, program_->import(real, source), source);
  if (python::is_tensor(real)) {
    PyObject* fake = need(recorder_.import_tensor(real, source, sources_.text(source)));
    check_class(Py_TYPE(real));  // and with it Tensor
    return stand_for(real, fake, source);
  }
  if (PyTuple_Check(real)) return import_tuple(real, source);
  if (is_derived(Py_TYPE(real), &PyFrozenSet_Type)) return import_frozen_set(real, source);
  if (is_twinned(real)) return make_twin(real, source);
  if (PyLong_Check(real) || PyFloat_Check(real) || PyUnicode_Check(real) || PyComplex_Check(real) ||
      PyBytes_Check(real)) {
    check(Kind::TypeIs, source, reinterpret_cast<PyObject*>(Py_TYPE(real)));
    check(Kind::Equal, source, real);
    check_class(Py_TYPE(real));
    return note_outside(real, source);
  }
  if (is_partial(real)) return import_partial(real, source);
  if (PyMethod_Check(real)) {
    check(Kind::TypeIs, source, reinterpret_cast<PyObject*>(&PyMethod_Type));
    Owned function(import(PyMethod_GET_FUNCTION(real), sources_.of(Step::MethodFunction, source)));
    Owned self(import(PyMethod_GET_SELF(real), sources_.of(Step::MethodSelf, source)));
    PyObject* method = need(PyMethod_New(function.get(), self.get()));
    return stand_for(real, method, source);
  }
  if (PyObject* mapping = viewed_mapping(real)) {
    check(Kind::TypeIs, source, reinterpret_cast<PyObject*>(Py_TYPE(real)));
    Owned dict(import(mapping, sources_.of(Step::Viewed, source)));
    open(dict.get());
    return stand_for(real, need(same_view(real, dict.get())), source);
  }
  check(Kind::TypeIs, source, reinterpret_cast<PyObject*>(Py_TYPE(real)));
  if (PyCell_Check(real)) return note_outside(real, source);
  if (!is_plain_instance(Py_TYPE(real))) return note_outside(real, source, /*is_opaque=*/true);
  check_class(Py_TYPE(real));
  return note_outside(real, source);
}

// A slice some of whose numbers change; null for one of constants.
PyObject* Capture::import_slice(PyObject* real, int source) {
  Owned parts[3];
  bool is_same = true;
  static const char* const names[] = {"start", "stop", "step"};
  auto* slice = reinterpret_cast<PySliceObject*>(real);
  PyObject* const given[] = {slice->start, slice->stop, slice->step};
  for (int i = 0; i < 3; ++i) {
    if (given[i] != Py_None && !PyLong_CheckExact(given[i])) return nullptr;
  }
  for (int i = 0; i < 3; ++i) {
    Owned name(need(PyUnicode_InternFromString(names[i])));
    parts[i] = Owned(import(given[i], sources_.of(Step::Member, source, 0, name.get())));
    is_same &= parts[i].get() == given[i];
  }
  if (is_same) return nullptr;
  check(Check::Kind::TypeIs, source, reinterpret_cast<PyObject*>(&PySlice_Type));
  return stand_for(real, need(PySlice_New(parts[0].get(), parts[1].get(), parts[2].get())), source);
}

// Named tuples, struct sequences and Size keep their class. A tuple of constants is a constant.
PyObject* Capture::import_tuple(PyObject* real, int source) {
  check(Check::Kind::TypeIs, source, reinterpret_cast<PyObject*>(Py_TYPE(real)));
  check(Check::Kind::Length, source, nullptr, PyTuple_GET_SIZE(real));
  const Py_ssize_t count = num_fields(real);
  Owned items(need(PyTuple_New(count)));
  bool is_same = true;
  Unread unread;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(real, i);
    const int path = sources_.of(Step::Index, source, static_cast<int>(i));
    PyObject* own = import_item(item, path, i, unread);
    is_same &= own == item;
    PyTuple_SET_ITEM(items.get(), i, own);
  }
  PyObject* made = nullptr;
  if (is_same) {
    made = Py_NewRef(real);
  } else {
    made = need(make_tuple(Py_TYPE(real), items.get()));
  }
  note_unread(made, std::move(unread));
  return stand_for(real, made, source);
}

PyObject* Capture::import_frozen_set(PyObject* real, int source) {
  check(Check::Kind::TypeIs, source, reinterpret_cast<PyObject*>(Py_TYPE(real)));
  const Owned items(need(keys_in_order(real)));
  if (are_constants(items.get())) {
    check(Check::Kind::Keys, source, items.get());
    return note_outside(real, source);
  }
  std::vector<Owned> own = import_keys(items.get(), source);
  const Owned members(need(PyTuple_New(static_cast<Py_ssize_t>(own.size()))));
  for (size_t i = 0; i < own.size(); ++i)
    PyTuple_SET_ITEM(members.get(), static_cast<Py_ssize_t>(i), Py_NewRef(own[i].get()));
  PyObject* made = stand_for(real, need(PyFrozenSet_New(members.get())), source);
  note_order(made, own);
  return made;
}

// A method of C bound to an object: the same of the object's stand-in, whose class may have another
// one of the name.
PyObject* Capture::import_native_method(PyObject* real, int source) {
  const PyMethodDef* definition = reinterpret_cast<PyCFunctionObject*>(real)->m_ml;
  check(Check::Kind::Definition, source, nullptr, reinterpret_cast<int64_t>(definition));
  Owned self(import(PyCFunction_GET_SELF(real), sources_.of(Step::MethodSelf, source)));
  if (is_opaque(self.get())) return note_outside(real, source, /*is_opaque=*/true);
  PyObject* descriptor = descriptor_of(real);
  const bool is_of_class = descriptor != nullptr && Py_IS_TYPE(descriptor, &PyMethodDescr_Type) &&
                           PyObject_TypeCheck(self.get(), PyDescr_TYPE(descriptor));
  PyObject* made =
      is_of_class ? PyMethodDescr_Type.tp_descr_get(
                        descriptor, self.get(), reinterpret_cast<PyObject*>(Py_TYPE(self.get())))
                  : PyObject_GetAttrString(self.get(), definition->ml_name);
  return stand_for(real, need(made), source);
}

// functools.partial: its function and arguments, in a new one.
PyObject* Capture::import_partial(PyObject* real, int source) {
  check(Check::Kind::TypeIs, source, reinterpret_cast<PyObject*>(Py_TYPE(real)));
  std::vector<Owned> parts;
  for (const char* text : {"func", "args", "keywords"}) {
    Owned name(need(PyUnicode_InternFromString(text)));
    Owned part(need(PyObject_GenericGetAttr(real, name.get())));
    parts.emplace_back(import(part.get(), sources_.of(Step::Member, source, 0, name.get())));
  }
  open(parts[2].get());
  Owned all(need(PyTuple_New(1 + PyTuple_GET_SIZE(parts[1].get()))));
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(parts[0].get()));
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(all.get()); ++i)
    PyTuple_SET_ITEM(all.get(), i, Py_NewRef(PyTuple_GET_ITEM(parts[1].get(), i - 1)));
  PyObject* made = need(PyObject_CallObject(reinterpret_cast<PyObject*>(Py_TYPE(real)), all.get()));
  stand_for(real, made, source);
  // Its keywords are the twin, which the program may write to; a call would give it a copy.
  Owned filled(need(PyObject_CallMethod(made, "__setstate__", "((OOOO))", parts[0].get(),
                                        parts[1].get(), parts[2].get(), Py_None)));
  return made;
}

PyObject* Capture::make_twin(PyObject* real, int source) {
  // What was told is in it behind the region.
  if (!deferred_.empty() && is_record_of_warnings(real)) throw Break{kRecordsWarnings};
  check(Check::Kind::TypeIs, source, reinterpret_cast<PyObject*>(Py_TYPE(real)));
  PyTypeObject* type = Py_TYPE(real);
  check_class(type);
  PyObject* made = need(make_container(real, source));
  auto twin = std::make_unique<Twin>();
  twin->original = real;
  twin->source = source;
  twin->seen = Owned(need(PyDict_New()));
  twin->missing = Owned(need(PySet_New(nullptr)));
  twin->deleted = Owned(need(PySet_New(nullptr)));
  stand_for(real, made, source);
  outside_[made].twin = twin.get();
  twins_.push_back(std::move(twin));
  // Methods of other classes may read them as they like.
  const bool is_looked_at = program_ == nullptr || type != deque_type();
  if (!is_lazy_dict(made) && !PyList_CheckExact(made) && !PySet_CheckExact(made) && is_looked_at)
    open(made);
  return made;
}

// An empty container of the same class.
PyObject* Capture::make_container(PyObject* real, int source) {
  PyTypeObject* type = Py_TYPE(real);
  const auto part = [&](const char* text) {
    Owned name(need(PyUnicode_InternFromString(text)));
    Owned value(need(PyObject_GenericGetAttr(real, name.get())));
    return Owned(import(value.get(), sources_.of(Step::Member, source, 0, name.get())));
  };
  auto* callable = reinterpret_cast<PyObject*>(type);
  if (type == defaultdict_type())
    return PyObject_CallOneArg(callable, part("default_factory").get());
  if (type == deque_type()) {
    // No symbol: C reads it.
    Owned name(need(PyUnicode_InternFromString("maxlen")));
    Owned longest(need(PyObject_GenericGetAttr(real, name.get())));
    check(Check::Kind::Equal, sources_.of(Step::Member, source, 0, name.get()), longest.get());
    Owned nothing(need(PyTuple_New(0)));
    return PyObject_CallFunctionObjArgs(callable, nothing.get(), longest.get(), nullptr);
  }
  Owned nothing(need(PyTuple_New(0)));
  return container_of(type)->tp_new(type, nothing.get(), nullptr);
}

PyObject* Capture::pinned_dict(PyObject* dict, const std::string& name) {
  if (const auto known = stand_ins_.find(dict); known != stand_ins_.end()) return known->second;
  Owned twin(make_twin(dict, sources_.pinned(dict, name)));
  return twin.get();
}

bool Capture::is_opaque(PyObject* object) {
  Outside* outside = find(object);
  return outside != nullptr && outside->is_opaque;
}

// Everything is imported before the twin is touched: an import may be a break.
void Capture::fill(PyObject* object) {
  Twin* twin = twin_of(object);
  if (twin == nullptr) return;
  check_unwritten(twin->original);
  if (twin->is_open) return;
  if (PyDict_Check(object)) return open_dict(*twin, object);
  PyObject* real = twin->original;
  Owned items(need(items_in_order(real)));
  std::vector<Owned> own;
  Unread unread;
  const bool has_objects = PyAnySet_Check(object) && !are_constants(items.get());
  if (has_objects) {
    own = import_keys(items.get(), twin->source);
  } else if (PyAnySet_Check(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      own.emplace_back(Py_NewRef(PyTuple_GET_ITEM(items.get(), i)));
    // In the order in which it is iterated.
    check(Check::Kind::Keys, twin->source, items.get());
  } else {
    check(Check::Kind::Length, twin->source, nullptr, PyTuple_GET_SIZE(items.get()));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      const int path = sources_.of(Step::Index, twin->source, static_cast<int>(i));
      PyObject* item = PyTuple_GET_ITEM(items.get(), i);
      own.emplace_back(PyList_CheckExact(object) ? import_item(item, path, i, unread)
                                                 : import(item, path));
    }
  }
  twin->is_open = true;
  const auto add = [&](PyObject* item) {
    if (PyAnySet_Check(object)) {
      need(PySet_Add(object, item));
    } else if (PyList_Check(object)) {
      need(PyList_Append(object, item));
    } else {
      Owned done(need(PyObject_CallMethod(object, "append", "(O)", item)));
    }
  };
  for (Owned& item : own) {
    add(item.get());
    keep(item.get());
    twin->snapshot.push_back(item.get());
  }
  for (Owned& item : twin->added) add(item.get());
  twin->added.clear();
  note_unread(object, std::move(unread));
  if (has_objects) note_order(object, own);
}

// What was written or deleted before stays as it is.
void Capture::open_dict(Twin& twin, PyObject* object) {
  Owned names = keys_of(twin.original);
  const bool has_objects = !are_constants(names.get());
  Owned items;
  {
    const SessionScope natively(nullptr);  // keys may have a hash of their own
    items = Owned(need(PyTuple_New(PyTuple_GET_SIZE(names.get()))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
      PyTuple_SET_ITEM(items.get(), i,
                       Py_NewRef(need(PyDict_GetItemWithError(twin.original,
                                                              PyTuple_GET_ITEM(names.get(), i)))));
  }
  std::vector<Owned> keys;
  if (has_objects) {
    keys = import_keys(names.get(), twin.source);
    names = Owned(need(PyTuple_New(static_cast<Py_ssize_t>(keys.size()))));
    for (size_t i = 0; i < keys.size(); ++i)
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(keys[i].get()));
    keep(names.get());
    if (twin.is_open) return;  // by a function of the program that compares its keys
  }
  const int path = has_objects ? sources_.of(Step::Values, twin.source) : -1;
  std::vector<Owned> values;  // null: known, deleted or moved
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(names.get(), i);
    const int is_moved = PySet_Contains(twin.deleted.get(), key);
    const int is_deleted = PySet_Contains(twin.missing.get(), key);
    const int is_known = PyDict_Contains(object, key);
    for (const int answer : {is_moved, is_deleted, is_known}) need(answer);
    Owned& value = values.emplace_back();
    if (is_moved || is_deleted || is_known) continue;
    const int source = has_objects ? sources_.of(Step::Index, path, static_cast<int>(i))
                                   : sources_.of(Step::Item, twin.source, 0, key);
    value = Owned(import(PyTuple_GET_ITEM(items.get(), i), source));
  }
  if (has_objects) {
    twin.keys = Owned(need(PyDict_New()));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
      need(PyDict_SetItem(twin.keys.get(), PyTuple_GET_ITEM(names.get(), i), Py_None));
  } else {
    check(Check::Kind::Keys, twin.source, names.get());
  }
  twin.is_open = true;
  Owned former(need(PyDict_New()));
  Owned written = keys_of(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(written.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(written.get(), i);
    need(PyDict_SetItem(former.get(), key, need(PyDict_GetItemWithError(object, key))));
  }
  if (PyODict_Check(object))
    Owned cleared(need(PyObject_CallMethod(object, "clear", nullptr)));
  else
    PyDict_Clear(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(names.get(), i);
    if (PyObject* value = values[static_cast<size_t>(i)].get()) {
      need(set_dict_item(object, key, value));
      need(PyDict_SetItem(twin.seen.get(), key, value));
      continue;
    }
    PyObject* known = PyDict_GetItemWithError(former.get(), key);
    const int is_moved = PySet_Contains(twin.deleted.get(), key);
    need(is_moved);
    if (known == nullptr || is_moved) continue;  // behind all others, where it was written again
    need(set_dict_item(object, key, known));
    need(PyDict_DelItem(former.get(), key));
  }
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(former.get(), &position, &key, &value))
    need(set_dict_item(object, key, value));
}

void Capture::open_deep(PyObject* object, int depth, Seen& seen) {
  constexpr int kDeepest = 20;
  if (depth > kDeepest) return;
  if (PyObject* mapping = viewed_mapping(object)) object = mapping;
  open(object);
  if (!PyTuple_Check(object) && container_of(Py_TYPE(object)) == nullptr) return;
  if (PyAnySet_Check(object) || !seen.insert(object).second) return;
  if (PyDict_Check(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value)) open_deep(value, depth + 1, seen);
    return;
  }
  Owned deque;
  if (!PyTuple_Check(object) && !PyList_Check(object)) deque = Owned(need(PySequence_List(object)));
  PyObject* items = deque ? deque.get() : object;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
    open_deep(PySequence_Fast_GET_ITEM(items, i), depth + 1, seen);
}

// One of the program in a list, tuple or dict: C compares it by what it holds.
bool Capture::holds_namespace(PyObject* object, int depth, Seen& seen) {
  constexpr int kDeepest = 20;
  if (depth > kDeepest) return false;
  const auto is_one = [&](PyObject* item) {
    return (is_namespace(Py_TYPE(item)) && is_opaque(item)) ||
           holds_namespace(item, depth + 1, seen);
  };
  const bool is_container =
      PyTuple_Check(object) || PyList_CheckExact(object) || PyDict_CheckExact(object);
  if (!is_container || !seen.insert(object).second) return false;
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      if (is_one(PySequence_Fast_GET_ITEM(object, i))) return true;
  } else if (PyDict_CheckExact(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value))
      if (is_one(value)) return true;
  }
  return false;
}

PyObject* Capture::dict_get(PyObject* dict, PyObject* given) {
  read_deep(given);
  Owned constant = constant_key(given);
  PyObject* key = constant.get();
  note_identity(key);
  Twin* twin = twin_of(dict);
  if (twin != nullptr) check_unwritten(twin->original, key);
  PyObject* found = PyDict_GetItemWithError(dict, key);
  if (found != nullptr) return found;
  if (PyErr_Occurred()) throw Raised{};
  if (twin == nullptr || twin->is_open) return nullptr;
  const int is_missing = PySet_Contains(twin->missing.get(), key);
  need(is_missing);
  if (is_missing) return nullptr;
  if (!settle_addresses(key)) throw Break{"a dict whose keys are addresses"};
  // An object of the program as the key is known by its path.
  int path = -1;
  PyObject* real_key = is_constant_key(key) ? key : real_key_of(key, &path);
  if (real_key == nullptr) {
    if (is_made_key(key)) return nullptr;
    open(dict);
    found = PyDict_GetItemWithError(dict, key);
    if (found == nullptr && PyErr_Occurred()) throw Raised{};
    return found;
  }
  PyObject* real = PyDict_GetItemWithError(twin->original, real_key);
  if (real == nullptr) {
    if (PyErr_Occurred()) throw Raised{};
    check_key(false, *twin, key, path);
    need(PySet_Add(twin->missing.get(), key));
    return nullptr;
  }
  Owned own(import(real, path >= 0 ? sources_.of(Step::KeyedItem, twin->source, path)
                                   : sources_.of(Step::Item, twin->source, 0, key)));
  need(set_dict_item(dict, key, own.get()));
  need(PyDict_SetItem(twin->seen.get(), key, own.get()));
  return own.get();
}

// Of a key that is written: whether it is there tells where it goes; its value does not matter.
// A run writes a constant key as the program does, there or not: who looks at the order of the
// dict opens it, which guards all keys.
void Capture::note_place(Twin& twin, PyObject* dict, PyObject* key) {
  int path = -1;
  const bool is_constant = is_constant_key(key);
  if (!(is_constant || real_key_of(key, &path) != nullptr) || !settle_addresses(key)) {
    dict_get(dict, key);
    return;
  }
  if (is_constant) return;
  const int is_known = PyDict_Contains(dict, key);
  const int is_missing = PySet_Contains(twin.missing.get(), key);
  for (const int answer : {is_known, is_missing}) need(answer);
  if (!twin.is_open && !is_known && !is_missing)
    check_key(contains_at_first(twin, key), twin, key, path);
}

bool Capture::dict_set(PyObject* dict, PyObject* given, PyObject* value) {
  read_deep(given);
  Owned constant = constant_key(given);
  PyObject* key = constant.get();
  note_identity(key);
  if (Twin* twin = twin_of(dict)) {
    check_unwritten(twin->original, key);
    int path = -1;
    PyObject* old = PyDict_GetItemWithError(dict, key);
    PyObject* real_key = is_constant_key(key) ? key : real_key_of(key, &path);
    if (old == nullptr && real_key != nullptr)
      old = PyDict_GetItemWithError(twin->original, real_key);
    if (old != nullptr && old != value && is_noticed(old))
      throw Break{std::string("the end of an object of class ") + Py_TYPE(old)->tp_name};
    note_place(*twin, dict, key);
    need(PySet_Discard(twin->missing.get(), key));
  }
  need(set_dict_item(dict, key, value));
  ++writes_;
  return true;
}

bool Capture::dict_delete(PyObject* dict, PyObject* given) {
  ++writes_;
  read_deep(given);
  Owned constant = constant_key(given);
  PyObject* key = constant.get();
  PyObject* item = dict_get(dict, key);
  if (item == nullptr) return false;
  // One that was written says nothing of the program's.
  if (const Twin* twin = twin_of(dict); twin != nullptr && !twin->is_open && is_constant_key(key) &&
                                        PyDict_Contains(twin->seen.get(), key) == 0)
    check_key(contains_at_first(*twin, key), *twin, key, -1);
  if (twin_of(dict) != nullptr && is_noticed(item))
    throw Break{std::string("the end of an object of class ") + Py_TYPE(item)->tp_name};
  need(delete_dict_item(dict, key));
  if (Twin* twin = twin_of(dict)) {
    need(PySet_Add(twin->missing.get(), key));
    need(PySet_Add(twin->deleted.get(), key));
  }
  return true;
}

}  // namespace taeda::dynamo
