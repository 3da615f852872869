// What objects of the captured world are made of: the second half of their recipes.
#include <algorithm>
#include <iterator>

#include "python/interop/sym_numbers.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/dynamo/capture/recipes.h"

namespace taeda::dynamo {

int Recipes::tuple(PyObject* object) {
  Action action{.kind = Action::Kind::Tuple};
  if (!PyTuple_CheckExact(object)) action.object = reinterpret_cast<PyObject*>(Py_TYPE(object));
  for (Py_ssize_t i = 0; i < num_fields(object); ++i)
    action.parts.push_back(value(PyTuple_GET_ITEM(object, i)));
  const int made = note(object, add(std::move(action)));
  if (!PyTuple_CheckExact(object)) fill_attributes(made, object);
  return made;
}

void Recipes::fill_dict(Action::Kind kind, int target, PyObject* dict) {
  Action fill{.kind = kind, .target = target};
  Owned keys = keys_of(dict);
  capture_.keep(keys.get());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
    fill.parts.push_back(value(key));
    fill.parts.push_back(value(need(PyDict_GetItemWithError(dict, key))));
  }
  add(std::move(fill));
}

void Recipes::fill_container(int made, PyObject* object) {
  if (PyDict_Check(object)) return fill_dict(Action::Kind::FillDict, made, object);
  Owned items(need(items_in_order(object)));
  capture_.keep(items.get());
  Action fill{.kind = PySet_Check(object) ? Action::Kind::FillSet : Action::Kind::FillList,
              .target = made};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
    fill.parts.push_back(value(PyTuple_GET_ITEM(items.get(), i)));
  add(std::move(fill));
}

// Attributes that a class keeps in slots, where they have values.
void Recipes::fill_slots(int target, PyObject* object) {
  Action fill{.kind = Action::Kind::FillInstance, .target = target};
  for (PyTypeObject* type = Py_TYPE(object); type->tp_flags & Py_TPFLAGS_HEAPTYPE;
       type = type->tp_base) {
    PyObject* slots = reinterpret_cast<PyHeapTypeObject*>(type)->ht_slots;
    for (Py_ssize_t i = 0; slots != nullptr && i < PyTuple_GET_SIZE(slots); ++i) {
      PyObject* name = PyTuple_GET_ITEM(slots, i);
      PyObject* slot = PyDict_GetItemWithError(type->tp_dict, name);
      const bool is_slot = slot != nullptr && Py_IS_TYPE(slot, &PyMemberDescr_Type);
      auto* of = reinterpret_cast<PyObject*>(type);
      Owned item(is_slot ? Py_TYPE(slot)->tp_descr_get(slot, object, of) : nullptr);
      if (!item) {
        PyErr_Clear();
        continue;
      }
      capture_.keep(item.get());
      if (_PyType_Lookup(Py_TYPE(object), name) != slot) {
        fill_hidden_slot(target, slot, item.get());
        continue;
      }
      fill.parts.push_back(value(name));
      fill.parts.push_back(value(item.get()));
    }
  }
  if (!fill.parts.empty()) add(std::move(fill));
}

// One that a derived class has something else by the name of.
void Recipes::fill_hidden_slot(int target, PyObject* slot, PyObject* item) {
  Owned set(need(PyObject_GetAttrString(slot, "__set__")));
  capture_.keep(set.get());
  const int part = value(item);
  add({.kind = Action::Kind::Call, .parts = {target, part}, .object = set.get()});
}

// A method of C bound to an object. The object's class may have another one of the name.
int Recipes::native_method(PyObject* object) {
  PyObject* self = PyCFunction_GET_SELF(object);
  if (self == nullptr || PyModule_Check(self) || PyType_Check(self)) return constant(object);
  if (PyObject* descriptor = descriptor_of(object)) {
    Owned bind(need(PyObject_GetAttrString(descriptor, "__get__")));
    capture_.keep(bind.get());
    const int of = value(self), type = constant(reinterpret_cast<PyObject*>(Py_TYPE(self)));
    return note(object,
                add({.kind = Action::Kind::Call, .parts = {of, type}, .object = bind.get()}));
  }
  static PyObject* const getattr = imported("builtins", "getattr");
  Owned name(
      need(PyUnicode_FromString(reinterpret_cast<PyCFunctionObject*>(object)->m_ml->ml_name)));
  const int of = value(self);
  const int named = constant(name.get());
  return note(object, add({.kind = Action::Kind::Call, .parts = {of, named}, .object = getattr}));
}

// What a call behind the graph gives.
int Recipes::effect(PyObject* object) {
  for (const Capture::Effect& effect : capture_.effects_) {
    if (effect.result.get() != object) continue;
    Action call{.kind = Action::Kind::Call, .object = effect.callable};
    for (const Owned& part : effect.parts) call.parts.push_back(value(part.get()));
    return note(object, add(std::move(call)));
  }
  throw Abandoned{"a handle that is the graph's lives on behind a break"};
}

int Recipes::function(PyObject* object) {
  auto* fields = reinterpret_cast<PyFunctionObject*>(object);
  const auto part = [&](PyObject* field) { return value(field == nullptr ? Py_None : field); };
  // Globals are the program's own.
  const int globals = add({.kind = Action::Kind::Constant, .object = fields->func_globals});
  Action action{.kind = Action::Kind::Function, .object = fields->func_code};
  action.parts = {globals, part(fields->func_defaults), part(fields->func_kwdefaults),
                  part(fields->func_closure)};
  const int made = note(object, add(std::move(action)));
  fill_function(made, object);
  return made;
}

// What the program gave a function that a new one of its code does not have.
void Recipes::fill_function(int made, PyObject* object) {
  const auto* fields = reinterpret_cast<PyFunctionObject*>(object);
  Owned fresh(need(PyFunction_New(fields->func_code, fields->func_globals)));
  Action fill{.kind = Action::Kind::FillInstance, .target = made};
  for (const char* text : {"__name__", "__qualname__", "__doc__", "__module__", "__annotations__",
                           "__type_params__"}) {
    Owned name(need(PyUnicode_InternFromString(text)));
    Owned own(PyObject_GetAttr(object, name.get()));
    if (!own) {
      PyErr_Clear();  // of a later Python
      continue;
    }
    Owned plain(need(PyObject_GetAttr(fresh.get(), name.get())));
    const bool is_empty = PyDict_CheckExact(own.get()) && PyDict_GET_SIZE(own.get()) == 0 &&
                          capture_.find(own.get()) == nullptr;
    if (own.get() == plain.get() || is_empty) continue;
    capture_.keep(own.get());
    capture_.keep(name.get());
    fill.parts.push_back(value(name.get()));
    fill.parts.push_back(value(own.get()));
  }
  if (!fill.parts.empty()) add(std::move(fill));
  fill_attributes(made, object);
}

// The __dict__ of an object.
void Recipes::fill_attributes(int made, PyObject* object) {
  Owned dict(PyObject_GenericGetDict(object, nullptr));
  if (!dict) PyErr_Clear();
  if (!dict || PyDict_GET_SIZE(dict.get()) == 0) return;
  capture_.keep(dict.get());
  fill_dict(Action::Kind::FillInstance, made, dict.get());
}

// One that was made and not raised yet, or has forgotten where.
int Recipes::exception(PyObject* object) {
  const auto* fields = reinterpret_cast<PyBaseExceptionObject*>(object);
  const PyTypeObject* base = Py_TYPE(object);
  while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
  const bool has_traceback = fields->traceback != nullptr && fields->traceback != Py_None;
  if (has_traceback || base->tp_basicsize != sizeof(PyBaseExceptionObject)) {
    const auto raised = capture_.raised_at_.find(object);
    throw Abandoned{
        std::string("an object of class ") + Py_TYPE(object)->tp_name + " lives on behind a break",
        raised == capture_.raised_at_.end() ? Abandoned::kNowhere : raised->second};
  }
  static PyObject* const make = imported("taeda.compiler._capture", "make_exception");
  Owned names(fields->dict != nullptr ? Py_NewRef(fields->dict) : need(PyDict_New()));
  capture_.keep(names.get());
  const int type = constant(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  const int args = value(fields->args), attributes = value(names.get());
  const int made = note(
      object, add({.kind = Action::Kind::Call, .parts = {type, args, attributes}, .object = make}));
  static PyObject* const set = imported("builtins", "setattr");
  const auto fill = [&](const char* field, PyObject* held) {
    const Owned name(need(PyUnicode_InternFromString(field)));
    const int key = constant(name.get()), part = value(held);
    add({.kind = Action::Kind::Call, .parts = {made, key, part}, .object = set});
  };
  if (fields->context != nullptr) fill("__context__", fields->context);
  if (fields->cause != nullptr) fill("__cause__", fields->cause);
  if (fields->suppress_context != 0) fill("__suppress_context__", Py_True);
  return made;
}

// It sees what is written to the dict later, and refuses one that grew. A new one would not
// refuse what the region itself wrote.
int Recipes::dict_iterator(PyObject* object, PyObject* dict) {
  static PyObject* const make = imported("taeda.compiler._capture", "make_dict_iterator");
  const Owned place = place_in_dict(object, dict);
  if (!place) throw Abandoned{"an iterator of a dict whose size changed lives on behind a break"};
  write_first(dict);
  Action call{.kind = Action::Kind::Call, .parts = {value(dict)}, .object = make};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(place.get()); ++i)
    call.parts.push_back(constant(PyTuple_GET_ITEM(place.get(), i)));
  return note(object, add(std::move(call)));
}

int Recipes::set_iterator(PyObject* object, PyObject* set) {
  static PyObject* const make = imported("taeda.compiler._capture", "make_set_iterator");
  Owned left(need(PyObject_CallMethod(object, "__length_hint__", nullptr)));
  Owned taken(need(PyLong_FromSsize_t(PySet_GET_SIZE(set) - PyLong_AsSsize_t(left.get()))));
  const int of = value(set), count = constant(taken.get());
  return note(object, add({.kind = Action::Kind::Call, .parts = {of, count}, .object = make}));
}

int Recipes::of_call(PyObject* object, PyObject* parts) {
  static PyObject* const make = imported("taeda.compiler._capture", "make_call");
  capture_.keep(parts);
  Action call{.kind = Action::Kind::Call, .object = make};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts); ++i)
    call.parts.push_back(value(PyTuple_GET_ITEM(parts, i)));
  return note(object, add(std::move(call)));
}

// One that did not begin is made by its call, one that waits goes on where it is, with its
// variables and what lies on its stack. What cannot be made of those ends the region before the
// generator.
int Recipes::generator(PyObject* object) {
  if (const Owned call = call_of_generator(object); call.get() != Py_None)
    return of_call(object, call.get());
  const auto made = capture_.made_at_.find(object);
  const int64_t made_at = made == capture_.made_at_.end() ? Abandoned::kNowhere : made->second;
  if (TaedaFrame* frame = taeda_generator_waiting(object)) try {
      return waiting_generator(object, frame);
    } catch (const Abandoned& problem) {
      const bool is_known = problem.ends_at != Abandoned::kNowhere;
      throw Abandoned{problem.reason, is_known ? problem.ends_at : made_at};
    }
  static PyObject* const make = imported("taeda.compiler._capture", "ended_generator");
  Owned code(need(PyObject_GetAttrString(object, "gi_code")));
  const Owned frame(need(PyObject_GetAttrString(object, "gi_frame")));
  if (frame.get() != Py_None)
    throw Abandoned{"a generator inside of a handler lives on behind a break", made_at};
  const int part = constant(code.get());
  return note(object, add({.kind = Action::Kind::Call, .parts = {part}, .object = make}));
}

int Recipes::waiting_generator(PyObject* object, TaedaFrame* frame) {
  static PyObject* const begin = imported("taeda.compiler._capture", "unbegun_generator");
  const int function = value(reinterpret_cast<PyObject*>(taeda_frame_function(frame)));
  const int made =
      note(object, add({.kind = Action::Kind::Call, .parts = {function}, .object = begin}));
  Action wait{
      .kind = Action::Kind::WaitingSlots, .target = made, .number = taeda_frame_next(frame)};
  PyObject** slots = taeda_frame_slots(frame);
  for (int i = 0; i < taeda_frame_used(frame); ++i)
    wait.parts.push_back(slots[i] == nullptr ? -1 : value(slots[i]));
  add(std::move(wait));
  return made;
}

// What a dict shows of itself, or types.MappingProxyType of a mapping.
int Recipes::view(PyObject* object, PyObject* mapping) {
  const bool is_proxy = Py_IS_TYPE(object, &PyDictProxy_Type);
  const auto names = capture_.names_of_.find(mapping);
  const bool is_of_class = is_proxy && names != capture_.names_of_.end();
  Owned make(is_of_class ? getter_of_names()
             : is_proxy  ? Py_NewRef(reinterpret_cast<PyObject*>(&PyDictProxy_Type))
                         : need(maker_of_view(object)));
  const int of = value(is_of_class ? reinterpret_cast<PyObject*>(names->second) : mapping);
  return note(object, add({.kind = Action::Kind::Call, .parts = {of}, .object = make.get()}));
}

int Recipes::of_plain_value(PyObject* object, PyObject* plain) {
  Owned make(need(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(plain)), "__new__")));
  capture_.keep(plain);
  const int type = value(reinterpret_cast<PyObject*>(Py_TYPE(object))), part = value(plain);
  const int made =
      note(object, add({.kind = Action::Kind::Call, .parts = {type, part}, .object = make.get()}));
  fill_attributes(made, object);
  fill_slots(made, object);
  return made;
}

// Instances of classes of Python by their attributes; iterators of C by what they reduce to.
int Recipes::other(PyObject* object) {
  using Kind = Action::Kind;
  PyTypeObject* type = Py_TYPE(object);
  PyTypeObject* base = container_of(type);
  const bool is_container = base != nullptr && base != type;
  if (is_plain_instance(type) || is_namespace(type) || is_container) {
    const int made =
        note(object, add({.kind = Kind::Instance, .object = reinterpret_cast<PyObject*>(type)}));
    capture_.keep(object);
    if (is_container) fill_container(made, object);
    fill_attributes(made, object);
    fill_slots(made, object);
    return made;
  }
  if (type == deque_type()) {
    static PyObject* const extend =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "extend");
    Owned items(need(PySequence_List(object)));
    Owned longest(need(PyObject_GetAttrString(object, "maxlen"))), none(need(PyTuple_New(0)));
    for (Owned* part : {&items, &longest, &none}) capture_.keep(part->get());
    const int empty = value(none.get()), limit = value(longest.get());
    const int made = note(object, add({.kind = Kind::Call,
                                       .parts = {empty, limit},
                                       .object = reinterpret_cast<PyObject*>(type)}));
    add({.kind = Kind::Call, .parts = {made, value(items.get())}, .object = extend});
    return made;
  }
  if (type == defaultdict_type()) {
    Owned factory(need(PyObject_GetAttrString(object, "default_factory")));
    capture_.keep(factory.get());
    const int part = value(factory.get());
    const int made = note(
        object,
        add({.kind = Kind::Dict, .parts = {part}, .object = reinterpret_cast<PyObject*>(type)}));
    fill_dict(Kind::FillDict, made, object);
    return made;
  }
  if (PyObject* mapping = shown_mapping(object)) return view(object, mapping);
  if (PyExceptionInstance_Check(object)) return exception(object);
  if (const Owned plain = plain_value(object)) return of_plain_value(object, plain.get());
  if (is_python_generator(object)) {
    const SessionScope natively(nullptr);
    Owned state(need(PyObject_CallMethod(object, "getstate", nullptr)));
    const int made =
        note(object, add({.kind = Kind::Call, .object = reinterpret_cast<PyObject*>(type)}));
    const int part = constant(state.get());
    add({.kind = Kind::SetState, .target = made, .parts = {part}});
    return made;
  }
  if (PyWeakref_CheckRefExact(object)) {
    const int of = value(PyWeakref_GET_OBJECT(object));
    return note(
        object,
        add({.kind = Kind::Call, .parts = {of}, .object = reinterpret_cast<PyObject*>(type)}));
  }
  if (is_partial(object)) {
    // Of any function at first: its arguments may hold it.
    auto* of = reinterpret_cast<PyObject*>(type);
    const int any = add({.kind = Kind::Constant, .object = of});
    const int made = note(object, add({.kind = Kind::Call, .parts = {any}, .object = of}));
    Owned reduced(need(PyObject_CallMethod(object, "__reduce__", nullptr)));
    capture_.keep(reduced.get());
    PyObject* state = PyTuple_GET_ITEM(reduced.get(), 2);
    add({.kind = Kind::SetState, .target = made, .parts = {value(state)}});
    return made;
  }
  if (PyGen_CheckExact(object)) return generator(object);
  if (!tells_its_place(object)) {
    const auto made = capture_.made_at_.find(object);
    throw Abandoned{std::string("an object of class ") + type->tp_name + " lives on behind a break",
                    made == capture_.made_at_.end() ? Abandoned::kNowhere : made->second};
  }
  if (PyObject* container = iterated_by_keys(object)) {
    if (PyDict_Check(container)) return dict_iterator(object, container);
    // One of a set that the region made goes through a list, which has the order of now.
    if (capture_.twin_of(container) != nullptr &&
        !capture_.is_changed(*capture_.twin_of(container), container))
      return set_iterator(object, container);
  }
  Owned reduced(PyObject_CallMethod(object, "__reduce__", nullptr));
  if (!reduced || !PyTuple_Check(reduced.get()) || PyTuple_GET_SIZE(reduced.get()) < 2) {
    PyErr_Clear();
    throw Abandoned{std::string("an object of class ") + type->tp_name +
                    " lives on behind a break"};
  }
  capture_.keep(reduced.get());
  PyObject* arguments = PyTuple_GET_ITEM(reduced.get(), 1);
  // As no new one does.
  if (PyTuple_GET_SIZE(arguments) > 0 && refuses_deque(object, PyTuple_GET_ITEM(arguments, 0)))
    throw Abandoned{"an iterator of a deque that changed lives on behind a break"};
  Action call{.kind = Kind::Call, .object = PyTuple_GET_ITEM(reduced.get(), 0)};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    write_first(PyTuple_GET_ITEM(arguments, i));
    call.parts.push_back(value(PyTuple_GET_ITEM(arguments, i)));
  }
  const int made = note(object, add(std::move(call)));
  if (PyTuple_GET_SIZE(reduced.get()) > 2 && PyTuple_GET_ITEM(reduced.get(), 2) != Py_None) {
    const int state = value(PyTuple_GET_ITEM(reduced.get(), 2));
    add({.kind = Kind::SetState, .target = made, .parts = {state}});
  }
  return made;
}

}  // namespace taeda::dynamo
