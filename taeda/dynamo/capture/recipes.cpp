// The end of a capture: values of the captured world become steps that make them again from the
// program's objects and the graph's results, and what was written becomes steps that write it.
#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "python/interop/sym_numbers.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

class Recipes {
 public:
  Recipes(Capture& capture, Entry& entry) : capture_(capture), entry_(entry) {}

  // The step that makes a value.
  int value(PyObject* object) {
    if (const auto known = steps_.find(object); known != steps_.end()) return known->second;
    capture_.keep(object);
    return make(object);
  }

  // Tensors of the program get their data first: calls behind the graph ask them.
  void data() {
    static PyObject* const data_name = PyUnicode_InternFromString("data");
    static PyObject* const set = imported("builtins", "setattr");
    for (const auto& [tensor, data] : capture_.data_) {
      const int target = value(tensor), name = value(data_name), part = value(data.get());
      add({.kind = Action::Kind::Call, .parts = {target, name, part}, .object = set});
    }
  }

  // Iterators of the program go where the region left them, before what they go through is written
  // to: some refuse to go on then.
  void taken() {
    static PyObject* const advance = imported("taeda.compiler._capture", "advance");
    for (const Capture::Taken& one : capture_.taken_) {
      Owned number(need(PyLong_FromLong(one.count)));
      const int target = value(one.iterator), count = constant(number.get());
      add({.kind = Action::Kind::Call, .parts = {target, count}, .object = advance});
    }
  }

  // Warnings, which the filters of the region's beginning are for.
  void warnings() {
    entry_.warns = !capture_.deferred_.empty();
    for (const Capture::Deferred& told : capture_.deferred_) {
      Action call{.kind = Action::Kind::Call, .object = told.callable};
      for (const Owned& part : told.constants)
        call.parts.push_back(add({.kind = Action::Kind::Constant, .object = part.get()}));
      add(std::move(call));
    }
  }

  // Writes to objects of the program, in the order in which they were first looked into; false with
  // an error where there must be none.
  bool writes() {
    using Kind = Action::Kind;
    const size_t first = entry_.actions.size();
    const auto steps = steps_;
    for (size_t i = 0; i < capture_.twins_.size(); ++i) write(*capture_.twins_[i]);
    std::vector<std::pair<int, PyObject*>> cells;
    for (auto& [object, outside] : capture_.outside_)
      if (outside.is_written) cells.emplace_back(outside.source, object);
    std::sort(cells.begin(), cells.end());
    for (const auto& [source, object] : cells) {
      PyObject* contents = capture_.find(object)->contents.get();
      const int target = path(source);
      written_.push_back(source);
      if (contents == nullptr) {
        add({.kind = Kind::EmptyCell, .target = target});
      } else {
        const int part = value(contents);
        add({.kind = Kind::WriteCell, .target = target, .parts = {part}});
      }
    }
    if (!written_.empty()) {
      const int is_replayed = capture_.recorder_.replays_writes(written_);
      if (is_replayed < 0) return false;
      if (is_replayed == 0) {
        entry_.actions.resize(first);
        steps_ = steps;
        for (const size_t early : early_writes_)
          if (early < first) entry_.actions[early] = {.kind = Kind::Constant, .object = Py_None};
      }
    }
    entry_.draws = capture_.draws_;
    entry_.remembered = capture_.remembered_;
    for (const RememberedCall& call : entry_.remembered)
      for (PyObject* part : {call.callable, call.args, call.kwargs})
        if (part != nullptr) entry_.kept.emplace_back(Py_NewRef(part));
    for (const Draw& draw : entry_.draws)
      for (PyObject* part : {draw.name, draw.args}) entry_.kept.emplace_back(Py_NewRef(part));
    for (const Capture::Effect& effect : capture_.effects_) value(effect.result.get());
    for (const auto& [tensor, grad] : capture_.grads_) {
      const int target = value(tensor), part = value(grad.get());
      add({.kind = Kind::WriteGrad, .target = target, .parts = {part}});
    }
    if (!capture_.members_.empty()) capture_.check_all_distinct(capture_.slotted_);
    for (const auto& [place, written] : capture_.members_) {
      const int target = value(place.first), name = value(place.second);
      Action write{.kind = Kind::WriteMember, .target = target, .parts = {name}};
      if (written) write.parts.push_back(value(written.get()));
      add(std::move(write));
    }
    for (const auto& [tensor, wanted] : capture_.requires_grad_) {
      const int target = value(tensor);
      add({.kind = Kind::RequireGrad, .target = target, .number = wanted});
    }
    class_writes();
    capture_.check_all_distinct(capture_.identities_);
    entry_.modes_after = Modes::now();
    if (entry_.modes_after != capture_.modes_) add({.kind = Kind::SetModes});
    return true;
  }

  void class_writes() {
    static PyObject* const setattr = imported("builtins", "setattr");
    static PyObject* const delattr = imported("builtins", "delattr");
    for (const Capture::ClassWrite& write : capture_.class_writes_) {
      if (!write.value && PyDict_Contains(write.type->tp_dict, write.name) == 0) continue;
      const int target = value(reinterpret_cast<PyObject*>(write.type)), name = value(write.name);
      Action call{.kind = Action::Kind::Call,
                  .parts = {target, name},
                  .object = write.value ? setattr : delattr};
      if (write.value) call.parts.push_back(value(write.value.get()));
      add(std::move(call));
    }
  }

  // A handler that began before the region ended in it, or the other way round: of the latter the
  // exception is the capture's own.
  void handled(PyObject* exception) {
    if (exception == capture_.exception_state_) return;
    if (exception == nullptr) exception = Py_None;
    if (exception != Py_None && capture_.find(exception) == nullptr) {
      const auto raised = capture_.raised_at_.find(exception);
      throw Abandoned{"a break inside of a handler of exceptions",
                      raised == capture_.raised_at_.end() ? Abandoned::kNowhere : raised->second};
    }
    const int part = value(exception);
    add({.kind = Action::Kind::SetHandled, .parts = {part}});
  }

  // Function modes that the program began and did not end.
  void function_modes() {
    const Overrides now = capture_.recorder_.overrides();
    if (now.state != capture_.overrides_.state)
      throw Abandoned{"a break where classes of tensors are not asked"};
    static PyObject* const push = imported("taeda._C", "_push_on_torch_function_stack");
    for (PyObject* mode : now.modes) {
      const int part = value(mode);
      add({.kind = Action::Kind::Call, .parts = {part}, .object = push});
    }
  }

 private:
  int add(Action action) {
    if (action.object != nullptr) entry_.kept.emplace_back(Py_NewRef(action.object));
    entry_.actions.push_back(std::move(action));
    return static_cast<int>(entry_.actions.size()) - 1;
  }
  int note(PyObject* object, int step) { return steps_[object] = step; }
  int constant(PyObject* object) {
    return note(object, add({.kind = Action::Kind::Constant, .object = object}));
  }
  int path(int source) { return add({.kind = Action::Kind::Path, .number = source}); }

  // Writes to a container of the program, once.
  void write(Capture::Twin& twin) {
    if (!begun_.insert(&twin).second) return;
    const size_t before = entry_.actions.size();
    write_twin(twin);
    if (entry_.actions.size() == before) return;
    check_alone(twin);
    written_.push_back(twin.source);
  }

  // An iterator is made of what the region left of its container: a place behind the end of the
  // former one is none, and writes to a dict end the loops over it.
  void write_first(PyObject* container) {
    Capture::Twin* twin = capture_.twin_of(container);
    if (twin == nullptr) return;
    const size_t before = entry_.actions.size();
    write(*twin);
    for (size_t i = before; i < entry_.actions.size(); ++i)
      if (is_write(entry_.actions[i])) early_writes_.push_back(i);
  }

  static bool is_constant(PyObject* object) {
    return (is_immutable(object) && !PySlice_Check(object)) || PyType_Check(object) ||
           PyModule_Check(object) || is_native_function(object);
  }

  int make(PyObject* object) {
    using Kind = Action::Kind;
    if (const auto caller = capture_.callers_.find(object); caller != capture_.callers_.end())
      return note(object, value(caller->second));
    const Capture::Outside* outside = capture_.find(object);
    if (outside != nullptr && outside->source >= 0) return note(object, path(outside->source));
    if (outside != nullptr) return effect(object);
    if (capture_.recorder_.is_value(object)) return output(object);
    if (PyLong_CheckExact(object) && capture_.is_address(object)) return address(object);
    if (PyCFunction_Check(object)) return native_method(object);
    if (is_constant(object)) return constant(object);
    if (PyTuple_Check(object)) return tuple(object);
    if (PyList_CheckExact(object)) {
      const int made = note(object, add({.kind = Kind::List}));
      Action fill{.kind = Kind::FillList, .target = made};
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i)
        fill.parts.push_back(value(PyList_GET_ITEM(object, i)));
      add(std::move(fill));
      return made;
    }
    if (PyDict_CheckExact(object) || PyODict_CheckExact(object)) {
      Action dict{.kind = Kind::Dict};
      if (PyODict_Check(object)) dict.object = reinterpret_cast<PyObject*>(&PyODict_Type);
      const int made = note(object, add(std::move(dict)));
      fill_dict(Kind::FillDict, made, object);
      if (PyODict_Check(object)) fill_attributes(made, object);
      return made;
    }
    if (PyAnySet_CheckExact(object)) {
      const bool is_frozen = PyFrozenSet_CheckExact(object);
      Action fill{.kind = is_frozen ? Kind::FrozenSet : Kind::FillSet};
      if (!is_frozen) fill.target = note(object, add({.kind = Kind::Set}));
      Owned items(need(PySequence_Tuple(object)));
      capture_.keep(items.get());
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
        fill.parts.push_back(value(PyTuple_GET_ITEM(items.get(), i)));
      const int target = fill.target;
      const int step = add(std::move(fill));
      return is_frozen ? note(object, step) : target;
    }
    if (PySlice_Check(object)) {
      const auto* slice = reinterpret_cast<PySliceObject*>(object);
      Action action{.kind = Kind::Slice,
                    .parts = {value(slice->start), value(slice->stop), value(slice->step)}};
      return note(object, add(std::move(action)));
    }
    if (PyCell_Check(object)) {
      const int made = note(object, add({.kind = Kind::Cell}));
      if (PyObject* contents = PyCell_GET(object)) {
        const int part = value(contents);
        add({.kind = Kind::FillCell, .target = made, .parts = {part}});
      }
      return made;
    }
    if (PyMethod_Check(object)) {
      const int function = value(PyMethod_GET_FUNCTION(object));
      const int self = value(PyMethod_GET_SELF(object));
      return note(object, add({.kind = Kind::Method, .parts = {function, self}}));
    }
    if (PyFunction_Check(object)) return function(object);
    return other(object);
  }

  // Of the object that the run makes or has in place of the one of the capture.
  int address(PyObject* number) {
    static PyObject* const id = imported("builtins", "id");
    const int part = value(capture_.object_at(number));
    return note(number, add({.kind = Action::Kind::Call, .parts = {part}, .object = id}));
  }

  // A tensor of a level that is over is no value of a graph: it is remembered with its history, as
  // the functions of vjp and linearize do.
  void check_levels(PyObject* object) const {
    const uint64_t level = capture_.recorder_.first_level_of(object);
    if (level == 0) return;
    const auto next = capture_.transforms_began_at_.upper_bound(level);
    const bool is_known = next != capture_.transforms_began_at_.begin();
    throw Abandoned{"a tensor of a function transform lives on behind a break",
                    is_known ? std::prev(next)->second : Abandoned::kNowhere};
  }

  // A result of the graph, with the attributes that the program gave it.
  int output(PyObject* object) {
    check_levels(object);
    int made = add({.kind = Action::Kind::Output, .number = capture_.recorder_.output(object)});
    // The graph's object has them.
    if (capture_.recorder_.is_wrapper(object)) {
      note(object, made);
      const auto own = capture_.own_parts_.find(object);
      if (own != capture_.own_parts_.end())
        fill_dict(Action::Kind::FillInstance, made, own->second.get());
      return made;
    }
    if (capture_.recorder_.gets_class(object)) {
      static PyObject* const as_subclass =
          PyObject_GetAttrString(imported("taeda._C", "Tensor"), "as_subclass");
      const int type = constant(reinterpret_cast<PyObject*>(capture_.recorder_.class_of(object)));
      made = add({.kind = Action::Kind::Call, .parts = {made, type}, .object = as_subclass});
    }
    note(object, made);
    if (capture_.recorder_.is_tensor_value(object)) fill_attributes(made, object);
    return made;
  }

  int tuple(PyObject* object) {
    Action action{.kind = Action::Kind::Tuple};
    if (!PyTuple_CheckExact(object)) action.object = reinterpret_cast<PyObject*>(Py_TYPE(object));
    for (Py_ssize_t i = 0; i < num_fields(object); ++i)
      action.parts.push_back(value(PyTuple_GET_ITEM(object, i)));
    const int made = note(object, add(std::move(action)));
    if (!PyTuple_CheckExact(object)) fill_attributes(made, object);
    return made;
  }

  void fill_dict(Action::Kind kind, int target, PyObject* dict) {
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

  void fill_container(int made, PyObject* object) {
    if (PyDict_Check(object)) return fill_dict(Action::Kind::FillDict, made, object);
    Owned items(need(PySequence_Tuple(object)));
    capture_.keep(items.get());
    Action fill{.kind = PySet_Check(object) ? Action::Kind::FillSet : Action::Kind::FillList,
                .target = made};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      fill.parts.push_back(value(PyTuple_GET_ITEM(items.get(), i)));
    add(std::move(fill));
  }

  // Attributes that a class keeps in slots, where they have values.
  void fill_slots(int target, PyObject* object) {
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
  void fill_hidden_slot(int target, PyObject* slot, PyObject* item) {
    Owned set(need(PyObject_GetAttrString(slot, "__set__")));
    capture_.keep(set.get());
    const int part = value(item);
    add({.kind = Action::Kind::Call, .parts = {target, part}, .object = set.get()});
  }

  // A method of C bound to an object. The object's class may have another one of the name.
  int native_method(PyObject* object) {
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
  int effect(PyObject* object) {
    for (const Capture::Effect& effect : capture_.effects_) {
      if (effect.result.get() != object) continue;
      Action call{.kind = Action::Kind::Call, .object = effect.callable};
      for (const Owned& part : effect.parts) call.parts.push_back(value(part.get()));
      return note(object, add(std::move(call)));
    }
    throw Abandoned{"a handle that is the graph's lives on behind a break"};
  }

  int function(PyObject* object) {
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
  void fill_function(int made, PyObject* object) {
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
  void fill_attributes(int made, PyObject* object) {
    Owned dict(PyObject_GenericGetDict(object, nullptr));
    if (!dict) PyErr_Clear();
    if (!dict || PyDict_GET_SIZE(dict.get()) == 0) return;
    capture_.keep(dict.get());
    fill_dict(Action::Kind::FillInstance, made, dict.get());
  }

  // One that was made and not raised yet.
  int exception(PyObject* object) {
    const auto* fields = reinterpret_cast<PyBaseExceptionObject*>(object);
    const PyTypeObject* base = Py_TYPE(object);
    while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
    if (fields->traceback != nullptr || fields->cause != nullptr || fields->context != nullptr ||
        base->tp_basicsize != sizeof(PyBaseExceptionObject)) {
      const auto raised = capture_.raised_at_.find(object);
      throw Abandoned{std::string("an object of class ") + Py_TYPE(object)->tp_name +
                          " lives on behind a break",
                      raised == capture_.raised_at_.end() ? Abandoned::kNowhere : raised->second};
    }
    static PyObject* const make = imported("taeda.compiler._capture", "make_exception");
    Owned names(fields->dict != nullptr ? Py_NewRef(fields->dict) : need(PyDict_New()));
    capture_.keep(names.get());
    const int type = constant(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    const int args = value(fields->args), attributes = value(names.get());
    return note(
        object,
        add({.kind = Action::Kind::Call, .parts = {type, args, attributes}, .object = make}));
  }

  // It sees what is written to the dict later, and refuses one that grew. A new one would not
  // refuse what the region itself wrote.
  int dict_iterator(PyObject* object, PyObject* dict) {
    static PyObject* const make = imported("taeda.compiler._capture", "make_dict_iterator");
    if (Owned rest(PyObject_CallMethod(object, "__reduce__", nullptr)); !rest) {
      PyErr_Clear();
      throw Abandoned{"an iterator of a dict whose size changed lives on behind a break"};
    }
    Owned left(need(PyObject_CallMethod(object, "__length_hint__", nullptr)));
    const Py_ssize_t num_left = PyLong_AsSsize_t(left.get());
    PyTypeObject* type = Py_TYPE(object);
    const char* kind = type == &PyDictIterKey_Type || type == &PyDictRevIterKey_Type ? "keys"
                       : type == &PyDictIterValue_Type || type == &PyDictRevIterValue_Type
                           ? "values"
                           : "items";
    PyObject* is_reversed = goes_backwards(type) ? Py_True : Py_False;
    Owned name(need(PyUnicode_InternFromString(kind)));
    Owned taken(need(PyLong_FromSsize_t(PyDict_GET_SIZE(dict) - num_left)));
    write_first(dict);
    const int of = value(dict);
    const int named = constant(name.get()), count = constant(taken.get());
    const int backwards = constant(is_reversed);
    return note(
        object,
        add({.kind = Action::Kind::Call, .parts = {of, named, count, backwards}, .object = make}));
  }

  int set_iterator(PyObject* object, PyObject* set) {
    static PyObject* const make = imported("taeda.compiler._capture", "make_set_iterator");
    Owned left(need(PyObject_CallMethod(object, "__length_hint__", nullptr)));
    Owned taken(need(PyLong_FromSsize_t(PySet_GET_SIZE(set) - PyLong_AsSsize_t(left.get()))));
    const int of = value(set), count = constant(taken.get());
    return note(object, add({.kind = Action::Kind::Call, .parts = {of, count}, .object = make}));
  }

  // An iterator of a deque that was written to behind it refuses to go on, as no new one does. It
  // tells when it is asked, and it is asked no more.
  static void check_goes_on(PyObject* iterator, PyObject* arguments) {
    if (PyTuple_GET_SIZE(arguments) == 0 ||
        !Py_IS_TYPE(PyTuple_GET_ITEM(arguments, 0), deque_type()))
      return;
    const Owned item(PyIter_Next(iterator));
    if (!PyErr_Occurred()) return;
    PyErr_Clear();
    throw Abandoned{"an iterator of a deque that changed lives on behind a break"};
  }

  // The number or text that an instance of a class of the program is; null for others.
  static Owned plain_value(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    if (is_derived(type, &PyLong_Type))
      return Owned(need(PyLong_Type.tp_as_number->nb_int(object)));
    if (is_derived(type, &PyFloat_Type))
      return Owned(need(PyFloat_FromDouble(PyFloat_AS_DOUBLE(object))));
    return is_derived(type, &PyUnicode_Type) ? Owned(need(PyUnicode_FromObject(object))) : Owned();
  }

  int of_plain_value(PyObject* object, PyObject* plain) {
    Owned make(
        need(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(plain)), "__new__")));
    capture_.keep(plain);
    const int type = value(reinterpret_cast<PyObject*>(Py_TYPE(object))), part = constant(plain);
    const int made = note(
        object, add({.kind = Action::Kind::Call, .parts = {type, part}, .object = make.get()}));
    fill_attributes(made, object);
    fill_slots(made, object);
    return made;
  }

  // Instances of classes of Python by their attributes; iterators of C by what they reduce to.
  int other(PyObject* object) {
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
      Owned items(need(PySequence_List(object)));
      Owned longest(need(PyObject_GetAttrString(object, "maxlen")));
      for (Owned* part : {&items, &longest}) capture_.keep(part->get());
      const int list = value(items.get()), limit = value(longest.get());
      return note(object, add({.kind = Kind::Call,
                               .parts = {list, limit},
                               .object = reinterpret_cast<PyObject*>(type)}));
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
      Owned func(need(PyObject_GetAttrString(object, "func")));
      Owned args(need(PyObject_GetAttrString(object, "args")));
      Owned keywords(need(PyObject_GetAttrString(object, "keywords")));
      static PyObject* const make = imported("taeda.compiler._capture", "make_partial");
      for (Owned* part : {&func, &args, &keywords}) capture_.keep(part->get());
      const int of = value(func.get()), given = value(args.get()), named = value(keywords.get());
      const int made =
          note(object, add({.kind = Kind::Call, .parts = {of, given, named}, .object = make}));
      fill_attributes(made, object);
      return made;
    }
    if (!tells_its_place(object)) {
      const auto made = capture_.made_at_.find(object);
      throw Abandoned{
          std::string("an object of class ") + type->tp_name + " lives on behind a break",
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
    check_goes_on(object, arguments);
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

  static bool is_write(const Action& action) {
    using Kind = Action::Kind;
    static PyObject* const set = imported("operator", "setitem");
    return action.kind == Kind::WriteList || action.kind == Kind::WriteSet ||
           action.kind == Kind::WriteItem || action.kind == Kind::DeleteItem ||
           (action.kind == Kind::Call && action.object == set);
  }

  // What is written to is none of the other objects that were read.
  void check_alone(const Capture::Twin& written) {
    for (const auto& other : capture_.twins_) {
      if (other->original == written.original ||
          Py_TYPE(other->original) != Py_TYPE(written.original))
        continue;
      capture_.check_pair(Check::Kind::Distinct, written.source, other->source);
    }
  }

  void write_twin(Capture::Twin& twin) {
    using Kind = Action::Kind;
    PyObject* own = capture_.stand_ins_.at(twin.original);
    if (PyList_Check(own) || Py_IS_TYPE(own, deque_type())) {
      Owned items(need(PySequence_List(own)));
      if (!twin.is_open || has_items(items.get(), twin.snapshot)) return;
      capture_.keep(items.get());
      if (!PyList_Check(own) && twin.snapshot.size() == size_t(PyList_GET_SIZE(items.get())))
        return write_deque(twin, items.get());
      Action write{.kind = Kind::WriteList, .target = path(twin.source)};
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i)
        write.parts.push_back(value(PyList_GET_ITEM(items.get(), i)));
      add(std::move(write));
      return;
    }
    if (PySet_Check(own)) {
      if (!twin.is_open) return;
      bool is_same = PySet_GET_SIZE(own) == static_cast<Py_ssize_t>(twin.snapshot.size());
      for (size_t i = 0; is_same && i < twin.snapshot.size(); ++i)
        is_same = PySet_Contains(own, twin.snapshot[i]) == 1;
      if (is_same) return;
      Action write{.kind = Kind::WriteSet, .target = path(twin.source)};
      Owned items(need(PySequence_Tuple(own)));
      capture_.keep(items.get());
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
        write.parts.push_back(value(PyTuple_GET_ITEM(items.get(), i)));
      add(std::move(write));
      return;
    }
    write_dict(twin, own);
  }

  // Item by item: a loop over the deque goes on, as behind writes to its items.
  void write_deque(const Capture::Twin& twin, PyObject* items) {
    static PyObject* const set = imported("operator", "setitem");
    const int target = path(twin.source);
    for (size_t i = 0; i < twin.snapshot.size(); ++i) {
      PyObject* item = PyList_GET_ITEM(items, i);
      if (item == twin.snapshot[i]) continue;
      Owned place(need(PyLong_FromSize_t(i)));
      const int at = constant(place.get()), part = value(item);
      add({.kind = Action::Kind::Call, .parts = {target, at, part}, .object = set});
    }
  }

  static bool has_items(PyObject* list, const std::vector<PyObject*>& items) {
    if (PyList_GET_SIZE(list) != static_cast<Py_ssize_t>(items.size())) return false;
    for (size_t i = 0; i < items.size(); ++i)
      if (PyList_GET_ITEM(list, i) != items[i]) return false;
    return true;
  }

  // Keys that are gone or moved, then keys whose values are others, in the order of the dict.
  void write_dict(Capture::Twin& twin, PyObject* own) {
    using Kind = Action::Kind;
    const SessionScope natively(nullptr);  // keys may have a hash of their own
    int target = -1;
    const auto to = [&] { return target >= 0 ? target : target = path(twin.source); };
    Owned keys = keys_of(own);
    capture_.keep(keys.get());
    const bool is_moved = !Capture::keeps_order(twin, own, keys.get());
    const auto is_new = [&](PyObject* key) {
      return is_moved || PySet_Contains(twin.deleted.get(), key) != 0;
    };
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(twin.seen.get(), &position, &key, &item)) {
      if (PyDict_Contains(own, key) != 0 && !is_new(key)) continue;
      const int part = value(key);
      add({.kind = Kind::DeleteItem, .target = to(), .parts = {part}});
    }
    // Those that were written without being read, and then deleted, one by one or by C.
    Owned written = twin.is_open ? Capture::keys_at_first(twin)
                                 : Owned(need(PySequence_Tuple(twin.deleted.get())));
    capture_.keep(written.get());
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(written.get()); ++i) {
      key = PyTuple_GET_ITEM(written.get(), i);
      if (PyDict_Contains(twin.seen.get(), key) != 0 || !capture_.contains_at_first(twin, key) ||
          (PyDict_Contains(own, key) != 0 && !is_new(key)))
        continue;
      const int part = value(key);
      add({.kind = Kind::DeleteItem, .target = to(), .parts = {part}});
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
      key = PyTuple_GET_ITEM(keys.get(), i);
      item = need(PyDict_GetItemWithError(own, key));
      if (PyDict_GetItemWithError(twin.seen.get(), key) == item && !is_new(key)) continue;
      const int name = value(key), part = value(item);
      add({.kind = Kind::WriteItem, .target = to(), .parts = {name, part}});
    }
  }

  Capture& capture_;
  Entry& entry_;
  std::unordered_map<PyObject*, int> steps_;
  std::unordered_set<const Capture::Twin*> begun_;  // that were written to, or are being
  std::vector<int> written_;                        // sources
  std::vector<size_t> early_writes_;                // steps that are before the other writes
};

bool Capture::write_recipes(Entry& entry, PyObject* value,
                            const std::vector<const State*>* frames) {
  Recipes recipes(*this, entry);
  recipes.data();
  recipes.taken();
  if (value != nullptr) {
    entry.result = recipes.value(value);
  } else {
    for (const State* state : *frames) {
      FrameRecipe recipe;
      recipe.code = state->code->object;
      entry.kept.emplace_back(Py_NewRef(reinterpret_cast<PyObject*>(recipe.code)));
      auto* function = reinterpret_cast<PyObject*>(taeda_frame_function(state->frame));
      const Frame& frame = frames_.at(state->frame);
      if (frame.number >= 0) {
        keep(function);
        entry.actions.push_back({.kind = Action::Kind::Constant, .object = function});
        entry.kept.emplace_back(Py_NewRef(function));
        recipe.function = static_cast<int>(entry.actions.size()) - 1;
      } else {
        recipe.function = recipes.value(function);
      }
      for (PyObject** slot = state->slots; slot < state->top; ++slot) {
        const size_t i = slot - state->slots;
        if (i < frame.is_unread.size() && frame.is_unread[i]) {
          const int source = sources_.local(frame.number, static_cast<int>(i), nullptr);
          recipe.slots.push_back(FrameRecipe::untouched(source));
        } else if (*slot == nullptr) {
          recipe.slots.push_back(-1);
        } else {
          recipe.slots.push_back(recipes.value(*slot));
        }
      }
      recipe.now = state->now;
      recipe.next = state->next;
      entry.frames.push_back(std::move(recipe));
    }
  }
  recipes.warnings();
  if (!recipes.writes()) return false;
  recipes.handled(PyThreadState_Get()->exc_info->exc_value);
  recipes.function_modes();
  return true;
}

}  // namespace taeda::dynamo
