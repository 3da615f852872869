// Handlers of operators, and what they and the program do to the same objects: Note [World of
// handlers].
#include <algorithm>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "taeda/dispatch/modes.h"
#include "taeda/dynamo/capture/attribute_kinds.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/capture/handler_world.h"

namespace taeda::dynamo {

Capture::Capture(Capture& program)
    : sources_(program.sources_),
      guards_(program.guards_),
      recorder_(program.recorder_),
      modes_(Modes::now()),
      overrides_(program.recorder_.overrides()),
      exception_state_(program.exception_state_),
      program_(&program) {}

Capture& Capture::HandlerWorld::begin() {
  if (capture_ == nullptr) {
    capture_.reset(new Capture(program_));
    session_ = std::make_shared<Session>();
    session_->capturing = capture_.get();
  }
  return *capture_;
}

PyObject* Capture::HandlerWorld::run(FunctionRef<PyObject*(Capture& world)> call) {
  Capture& world = begin();
  const SessionScope scope(session_);
  const bool was_looked_at = std::exchange(world.is_looked_at_, true);
  const Modes modes = Modes::now();
  PyObject* result = nullptr;
  const auto fail = [&](std::string reason) {
    world.is_broken_ = true;
    world.reason_ = std::move(reason);
  };
  try {
    result = call(world);
  } catch (const Break& reason) {
    fail(reason.reason);
  } catch (const Abandoned& problem) {
    fail(problem.reason);
  } catch (const Raised&) {
  } catch (const Refused&) {
    fail("an error of the capture");
  } catch (const std::exception& error) {
    fail(error.what());
  }
  world.taker_ = Taker::C;
  world.is_looked_at_ = was_looked_at;
  if (!world.is_broken_) return result;
  world.is_broken_ = false;
  modes.restore();
  reason_ = world.reason_.empty() ? "a break" : world.reason_;
  Py_CLEAR(result);
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "a captured call broke");
  return nullptr;
}

PyObject* Capture::HandlerWorld::ask(PyTypeObject* type, PyObject* rule, PyObject* args) {
  static PyObject* const name = PyUnicode_InternFromString("__torch_dispatch__");
  return run([&](Capture& world) -> PyObject* {
    if (args == nullptr) throw Break{"an operator of control flow"};
    PyObject* found = _PyType_Lookup(type, name);
    if (rule == nullptr && found != nullptr && PyFunction_Check(found))
      throw Break{"a handler that is no class method"};
    Owned method(rule != nullptr ? world.import(rule, world.pin(rule))
                                 : world.class_attribute(type, name));
    PyObject* function =
        PyMethod_Check(method.get()) ? PyMethod_GET_FUNCTION(method.get()) : method.get();
    if (!PyFunction_Check(function) || world.recorder_.kind_of(function) != CallKind::Entered)
      throw Break{"a function that is none of Python"};
    // Handlers look the operator up.
    PyObject* func = PyTuple_GET_ITEM(args, rule != nullptr ? 1 : 0);
    if (world.find(func) == nullptr) Py_DECREF(world.import(func, world.pin(func)));
    world.taker_ = Taker::Capture;
    return PyObject_Call(method.get(), args, nullptr);
  });
}

PyObject* Capture::HandlerWorld::evaluate(PyObject* function, PyObject* args) {
  return run([&](Capture& world) -> PyObject* {
    Owned own(world.import(function, world.pin(function)));
    world.taker_ = Taker::Capture;
    Owned result(PyObject_Call(own.get(), args, nullptr));
    world.taker_ = Taker::C;
    return result && !world.is_broken_ ? world.shown(result.get()) : nullptr;
  });
}

bool Capture::HandlerWorld::have_written() {
  if (capture_ == nullptr) return false;
  const auto is_written = [&](const auto& twin) { return capture_->is_changed(twin->original); };
  const auto is_outside = [&](const auto& member) {
    return !capture_->recorder_.is_wrapper(member.first.first);
  };
  return !capture_->class_writes_.empty() || !capture_->taken_.empty() ||
         std::ranges::any_of(capture_->twins_, is_written) ||
         std::ranges::any_of(capture_->members_, is_outside) ||
         std::ranges::any_of(capture_->outside_, [](const auto& o) { return o.second.is_written; });
}

// Of the program that of handlers, and the other way round; null where there are none.
Capture* Capture::other() const { return program_ != nullptr ? program_ : handlers_->capture(); }

// Whether this capture wrote to a container of the program; of a dict, to a key.
bool Capture::has_changed(PyObject* original, PyObject* key) {
  const auto own = stand_ins_.find(original);
  Twin* twin = own == stand_ins_.end() ? nullptr : twin_of(own->second);
  if (twin == nullptr) return false;
  if (key == nullptr || !PyDict_Check(own->second) || !is_known_key(key))
    return is_changed(*twin, own->second);
  const int is_deleted = PySet_Contains(twin->deleted.get(), key);
  need(is_deleted);
  PyObject* now = PyDict_GetItemWithError(own->second, key);
  PyObject* seen = PyDict_GetItemWithError(twin->seen.get(), key);
  if (PyErr_Occurred()) throw Raised{};
  return is_deleted == 1 || now != seen;
}

bool Capture::has_changed_class(PyTypeObject* type, PyObject* name) const {
  return std::ranges::any_of(class_writes_, [&](const ClassWrite& write) {
    return PyType_IsSubtype(type, write.type) && PyUnicode_Compare(write.name, name) == 0;
  });
}

static Break written_by_other(bool is_handler) {
  return Break{is_handler ? "an object that the program wrote to before"
                          : "an object that a handler of operators wrote to"};
}

void Capture::check_unwritten(PyObject* original, PyObject* key) {
  Capture* other = this->other();
  if (other != nullptr && other->has_changed(original, key))
    throw written_by_other(program_ != nullptr);
}

void Capture::check_unwritten_class(PyTypeObject* type, PyObject* name) {
  const Capture* other = this->other();
  if (other != nullptr && other->has_changed_class(type, name))
    throw written_by_other(program_ != nullptr);
}

void Capture::check_unwritten_cell(PyObject* cell) {
  Capture* other = this->other();
  const Outside* outside = other == nullptr ? nullptr : other->find(cell);
  if (outside != nullptr && outside->is_written) throw written_by_other(program_ != nullptr);
}

void Capture::check_unwritten_slot(PyObject* object, PyObject* name) {
  const Capture* other = this->other();
  if (other != nullptr && !recorder_.is_wrapper(object) && other->members_.contains({object, name}))
    throw written_by_other(program_ != nullptr);
}

void Capture::check_untaken(PyObject* iterator) {
  const Capture* other = this->other();
  if (other != nullptr && other->iterator_of_part_.contains(iterator))
    throw written_by_other(program_ != nullptr);
}

// An object of the program that the other capture met, as this one has it. A new reference.
PyObject* Capture::known_to_other(PyObject* value) {
  Capture* other = this->other();
  const Outside* outside =
      other == nullptr || recorder_.is_value(value) || find(value) ? nullptr : other->find(value);
  if (outside == nullptr || outside->source < 0 || outside->original == nullptr)
    return Py_NewRef(value);
  return import(outside->original, outside->source);
}

// An instance of a frozen data class.
static bool is_frozen(PyObject* object) {
  static PyObject* const params_name = PyUnicode_InternFromString("__dataclass_params__");
  PyObject* params = _PyType_Lookup(Py_TYPE(object), params_name);
  if (params == nullptr || !is_plain_instance(Py_TYPE(object))) return false;
  Owned frozen(PyObject_GetAttrString(params, "frozen"));
  if (!frozen) PyErr_Clear();
  return frozen.get() == Py_True;
}

// Whether a value is the same whoever looks at it, and nothing changes it.
static bool is_shown(PyObject* value) {
  if (PyTuple_Check(value)) {
    PyObject** items = PySequence_Fast_ITEMS(value);
    return std::all_of(items, items + PyTuple_GET_SIZE(value), is_shown);
  }
  if (is_frozen(value)) {
    Owned names(PyObject_GenericGetDict(value, nullptr));
    if (!names) PyErr_Clear();
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (names && PyDict_Next(names.get(), &position, &key, &item))
      if (!is_shown(item) || has_symbols(item)) return false;
    return static_cast<bool>(names);
  }
  return is_immutable(value) || python::is_symbolic(value) || PyType_Check(value) ||
         PyModule_Check(value) || is_native_function(value);
}

// A value as somebody sees it who captures nothing: with containers of its own, and the program's
// objects. A new reference.
PyObject* Capture::shown(PyObject* value) {
  open_deep(value);
  if (recorder_.is_tensor_value(value) || is_shown(value)) return Py_NewRef(value);
  if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
    Owned items(need(PyList_New(0)));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      const Owned item(shown(PySequence_Fast_GET_ITEM(value, i)));
      need(PyList_Append(items.get(), item.get()));
    }
    return PyList_CheckExact(value) ? items.release() : need(PyList_AsTuple(items.get()));
  }
  if (PyDict_CheckExact(value)) {
    Owned items(need(PyDict_New()));
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(value, &position, &key, &item)) {
      const Owned own_key(shown(key)), own_item(shown(item));
      need(PyDict_SetItem(items.get(), own_key.get(), own_item.get()));
    }
    return items.release();
  }
  const Outside* outside = find(value);
  if (outside == nullptr || outside->source < 0 || outside->original == nullptr)
    throw Break{std::string("an object of class ") + Py_TYPE(value)->tp_name};
  check(Check::Kind::Is, outside->source, outside->original);
  return Py_NewRef(outside->original);
}

// What a wrapper has as an attribute: of the program's capture a value of the graph, or one that
// every look gives.
PyObject* Capture::part_of(PyObject* wrapper, PyObject* name, PyObject* value) {
  if (recorder_.is_tensor_value(value)) {
    recorder_.note_part(wrapper, name, value);
    return Py_NewRef(value);
  }
  Owned own(known_to_other(value));
  if (program_ == nullptr && find(own.get()) == nullptr && !is_shown(own.get()))
    throw Break{std::string("an object of class ") + Py_TYPE(value)->tp_name +
                " that a handler of operators made"};
  return own.release();
}

// What a handler wrote to an attribute of the program's object, which the graph has by now; null
// where it wrote nothing. Borrowed.
PyObject* Capture::new_part_of(PyObject* object, PyObject* name) {
  Capture* handlers = other();
  if (handlers == nullptr) return nullptr;
  PyObject* names = handlers->tensor_attributes_of(object);
  const Twin* twin = names == nullptr ? nullptr : handlers->twin_of(names);
  if (twin == nullptr || !handlers->has_changed(twin->original, name)) return nullptr;
  return PyDict_GetItemWithError(names, name);
}

PyObject* Capture::slot_of_wrapper(PyObject* wrapper, PyObject* name) {
  const Capture* home = program_ != nullptr ? this : other();
  if (home == nullptr || !recorder_.is_wrapper(wrapper)) return nullptr;
  const auto written = home->members_.find({wrapper, name});
  return written == home->members_.end() ? nullptr : written->second.get();
}

// Of the program, what it wrote there and is written behind the graph; null where that is nothing.
// Borrowed.
PyObject* Capture::own_part_of(PyObject* wrapper, PyObject* name) {
  const auto own = own_parts_.find(wrapper);
  return own == own_parts_.end() ? nullptr : PyDict_GetItemWithError(own->second.get(), name);
}

// Values that no graph holds are written behind it; false for others, which the graph writes. A
// handler that looks at the object later would miss the former.
bool Capture::set_own_part(PyObject* wrapper, PyObject* name, PyObject* value) {
  const bool was_own = own_part_of(wrapper, name) != nullptr;
  const Outside* outside = value == nullptr ? nullptr : find(value);
  const bool is_outside = outside != nullptr && outside->source >= 0 &&
                          outside->original == value && !recorder_.is_value(value);
  const bool is_constant = value != nullptr && is_shown(value);
  const bool is_of_graph =
      value == nullptr || recorder_.is_tensor_value(value) || is_constant || is_outside;
  if (is_of_graph && !was_own) {
    // Classes of tuples and instances are more than a graph's arguments.
    const bool is_plain =
        is_constant && !is_frozen(value) && (!PyTuple_Check(value) || PyTuple_CheckExact(value));
    const bool is_object =
        (is_constant && !is_plain && !has_symbols(value)) || (is_outside && !is_constant);
    if (is_object && !is_constant) check(Check::Kind::Is, outside->source, value);
    recorder_.set_part(wrapper, name, value, is_object);
    return false;
  }
  PyObject* found = _PyType_Lookup(Py_TYPE(wrapper), name);
  if (value == nullptr || (found != nullptr && is_data_descriptor(found)))
    throw Break{"a write to an attribute of a tensor"};
  recorder_.note_attribute(wrapper);
  Owned& names = own_parts_[wrapper];
  if (!names) names = Owned(need(PyDict_New()));
  keep(wrapper);
  need(PyDict_SetItem(names.get(), name, value));
  return true;
}

// The graph writes to its object, so that handlers see it.
void Capture::set_part(PyObject* wrapper, PyObject* name, PyObject* value) {
  if (program_ == nullptr && set_own_part(wrapper, name, value)) return;
  PyObject* found = _PyType_Lookup(Py_TYPE(wrapper), name);
  if (found != nullptr && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
    Capture& home = program_ != nullptr ? *this : handlers_->begin();
    home.keep(wrapper);
    home.keep(name);
    if (value == nullptr && slot_of_wrapper(wrapper, name) == nullptr) {
      PyErr_SetObject(PyExc_AttributeError, name);
      throw Raised{.is_exact = true};
    }
    home.members_[{wrapper, name}] = Owned(Py_XNewRef(value));
    return;
  }
  PyObject* names = tensor_attributes_of(wrapper);
  if (value != nullptr) {
    dict_set(names, name, value);
  } else if (!dict_delete(names, name)) {
    raise_undeletable(wrapper, name);
  }
}

PyObject* list_append() {
  static PyObject* const append =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyList_Type), "append");
  return append;
}

// A list of the program that is appended to and was not looked into: how long it is does not matter
// as long as nothing looks. Null for other calls.
Capture::Twin* Capture::unseen_list(const Call& call) {
  if (call.callable != list_append() || call.values.size() != 2 || call.names != nullptr)
    return nullptr;
  Twin* twin = twin_of(call.values[0]);
  return twin == nullptr || twin->is_open ? nullptr : twin;
}

// The same of handlers, which keep lists and sets of their calls. True where nothing is left to do.
bool Capture::adds_unseen(const Call& call) {
  Twin* twin = call.values.size() == 2 && call.names == nullptr ? twin_of(call.values[0]) : nullptr;
  if (twin == nullptr || twin->is_open || !Py_IS_TYPE(call.callable, &PyMethodDescr_Type))
    return false;
  static PyObject* const set_add =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PySet_Type), "add");
  static PyObject* const deque_append =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(deque_type()), "append");
  if (call.callable != list_append() && call.callable != set_add && call.callable != deque_append)
    return false;
  check_unwritten(twin->original);
  if (call.callable == set_add) check_hash(call);
  twin->added.emplace_back(Py_NewRef(call.values[1]));
  ++writes_;
  return true;
}

// Functions that handlers and wrappers are made with.
PyObject* Capture::call_of_handlers(const Call& call, CallKind kind) {
  if (kind == CallKind::MakesWrapper) {
    for (PyObject* value : call.values) open_deep(value);
    if (call.positional > 0 && PyType_Check(call.values[0]))
      check_class(reinterpret_cast<PyTypeObject*>(call.values[0]));
    Owned args = tuple_of(call);
    Owned kwargs(need(PyDict_New()));
    for (size_t i = call.positional; i < call.values.size(); ++i)
      need(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(call.names, i - call.positional),
                          call.values[i]));
    return need(recorder_.make_wrapper(call.callable, args.get(), kwargs.get()));
  }
  if (program_ == nullptr) throw Break{"call of " + name_of(call.callable)};
  if (kind == CallKind::Told) return Py_NewRef(Py_None);
  static PyObject* const disabled = imported("taeda._C", "_disabled_torch_dispatch_impl");
  if (call.callable == disabled) {
    // (func, types, args=(), kwargs=None)
    const size_t count = call.values.size();
    if (call.names != nullptr || count < 2 || count > 4) throw Break{"call of a handler"};
    Owned args(need(count > 2 ? PySequence_Tuple(call.values[2]) : PyTuple_New(0)));
    PyObject* kwargs = count > 3 && call.values[3] != Py_None ? call.values[3] : nullptr;
    struct Disabled {
      bool was_on = dispatch::set_python_key_enabled(false);
      ~Disabled() { dispatch::set_python_key_enabled(was_on); }
    } const without_handlers;
    return need(recorder_.call(call.values[0], args.get(), kwargs));
  }
  const SessionScope natively(nullptr);
  return need(PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names));
}

}  // namespace taeda::dynamo
