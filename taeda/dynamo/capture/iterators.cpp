// Iterators of C that the program began and a captured region goes on with: a loop behind a break.
// The capture looks at what they will give without taking it; the run takes as many behind the
// graph.
#include <algorithm>
#include <string_view>

#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/handlers.h"

namespace taeda::dynamo {

namespace {

bool goes_through_items(PyTypeObject* type) {
  return type == &PyListIter_Type || type == &PyTupleIter_Type || type == &PyRangeIter_Type;
}

// itertools.count. Since Python 3.12 asking one how far it is warns the program.
bool counts(PyTypeObject* type) {
  if (PY_VERSION_HEX >= 0x030C0000) return false;
  static Loaded count("itertools", "count");
  return count.get() != nullptr && type == count.type();
}

bool goes_through_dict(PyTypeObject* type) {
  return type == &PyDictIterKey_Type || type == &PyDictIterValue_Type ||
         type == &PyDictIterItem_Type;
}

bool goes_through_deque(PyTypeObject* type) {
  static Loaded forwards("_collections", "_deque_iterator");
  static Loaded backwards("_collections", "_deque_reverse_iterator");
  return type == forwards.type() || type == backwards.type();
}

bool goes_through_deque_backwards(PyTypeObject* type) {
  static Loaded backwards("_collections", "_deque_reverse_iterator");
  return type == backwards.type();
}

// As CPython 3.11 to 3.13 have them: nothing else tells whether the deque was written to.
struct Deque {
  PyObject_VAR_HEAD void* ends[2];
  Py_ssize_t places[2];
  size_t state;
};
struct DequeIterator {
  PyObject_HEAD void* block;
  Py_ssize_t index;
  Deque* deque;
  size_t state;
};

bool refuses_changes(PyTypeObject* type) {
  return goes_through_dict(type) || goes_backwards(type) || type == &PySetIter_Type;
}

// In place of an item where the container changed, and to go on is an error.
PyObject* error_mark() {
  static PyObject* const mark =
      need(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  return mark;
}

// What copies of an iterator are made of: a function, its arguments and often a place.
Owned state_of(PyObject* iterator) {
  Owned state(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  if (!state) PyErr_Clear();
  if (state && (!PyTuple_Check(state.get()) || PyTuple_GET_SIZE(state.get()) < 2 ||
                !PyTuple_Check(PyTuple_GET_ITEM(state.get(), 1))))
    return Owned();
  return state;
}

PyObject* argument_of(const Owned& state, Py_ssize_t i) {
  PyObject* arguments = PyTuple_GET_ITEM(state.get(), 1);
  return i < PyTuple_GET_SIZE(arguments) ? PyTuple_GET_ITEM(arguments, i) : nullptr;
}

Py_ssize_t place_of(const Owned& state) {
  if (PyTuple_GET_SIZE(state.get()) < 3) return 0;
  PyObject* place = PyTuple_GET_ITEM(state.get(), 2);
  return PyLong_Check(place) ? PyLong_AsSsize_t(place) : 0;
}

Owned item_of(PyObject* sequence, Py_ssize_t place) {
  if (sequence == nullptr || place < 0 || place >= PySequence_Size(sequence)) {
    PyErr_Clear();
    return Owned();
  }
  Owned item(PySequence_GetItem(sequence, place));
  if (!item) PyErr_Clear();
  return item;
}

// The iterators that one of these takes from, and the containers that they go through; false where
// it cannot be known what it will give.
bool find_parts(PyObject* iterator, std::vector<PyObject*>& parts,
                std::vector<PyObject*>& containers) {
  PyTypeObject* type = Py_TYPE(iterator);
  // Two of a zip may be one and the same.
  if (std::find(parts.begin(), parts.end(), iterator) != parts.end()) return false;
  parts.push_back(iterator);
  const bool is_of_others = type == &PyEnum_Type || type == &PyZip_Type;
  if (counts(type)) {
    const Owned state = state_of(iterator);
    PyObject* first = state ? argument_of(state, 0) : nullptr;
    return first != nullptr && PyLong_CheckExact(first);
  }
  if (goes_through_deque(type)) {
    const auto* at = reinterpret_cast<DequeIterator*>(iterator);
    containers.push_back(reinterpret_cast<PyObject*>(at->deque));
    return true;
  }
  if (!is_of_others && !goes_through_items(type) && type != &PyListRevIter_Type)
    return goes_through_dict(type) || type == &PySetIter_Type;
  const Owned state = state_of(iterator);
  if (!state) return false;
  if (type == &PyZip_Type && PyTuple_GET_SIZE(state.get()) > 2) return false;  // a strict one
  PyObject* arguments = PyTuple_GET_ITEM(state.get(), 1);
  if (!is_of_others) {
    // The iterator has the container for as long as it is not at its end.
    if (PyTuple_GET_SIZE(arguments) > 0 && PyList_Check(PyTuple_GET_ITEM(arguments, 0)))
      containers.push_back(PyTuple_GET_ITEM(arguments, 0));
    return true;
  }
  const Py_ssize_t count = type == &PyEnum_Type ? 1 : PyTuple_GET_SIZE(arguments);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!find_parts(PyTuple_GET_ITEM(arguments, i), parts, containers)) return false;
  return count > 0;
}

}  // namespace

bool goes_backwards(PyTypeObject* type) {
  return type == &PyDictRevIterKey_Type || type == &PyDictRevIterValue_Type ||
         type == &PyDictRevIterItem_Type;
}

Owned place_in_dict(PyObject* iterator, PyObject* dict) {
  if (!state_of(iterator)) return Owned();
  Owned left(need(PyObject_CallMethod(iterator, "__length_hint__", nullptr)));
  const PyTypeObject* type = Py_TYPE(iterator);
  const char* kind = type == &PyDictIterKey_Type || type == &PyDictRevIterKey_Type       ? "keys"
                     : type == &PyDictIterValue_Type || type == &PyDictRevIterValue_Type ? "values"
                                                                                         : "items";
  const Py_ssize_t taken = PyDict_GET_SIZE(dict) - PyLong_AsSsize_t(left.get());
  return Owned(need(
      Py_BuildValue("(snO)", kind, taken, goes_backwards(Py_TYPE(iterator)) ? Py_True : Py_False)));
}

bool refuses_deque(PyObject* iterator, PyObject* deque) {
  if (!Py_IS_TYPE(deque, deque_type())) return false;
  const Owned item(PyIter_Next(iterator));
  const bool is_refused = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  return is_refused;
}

bool tells_its_place(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!PyIter_Check(object) || PyGen_Check(object)) return false;
  // Since Python 3.12 the iterators of a deque have classes that are made as the module loads.
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || goes_through_deque(type);
}

PyObject* iterated_by_keys(PyObject* iterator) {
  PyTypeObject* type = Py_TYPE(iterator);
  if (!refuses_changes(type)) return nullptr;
  PyObject* container = nullptr;
  const auto visit = [](PyObject* held, void* found) {
    if (PyDict_Check(held) || PyAnySet_Check(held)) *static_cast<PyObject**>(found) = held;
    return 0;
  };
  type->tp_traverse(iterator, visit, &container);
  return container;
}

Owned call_of_generator(PyObject* generator) {
  static PyObject* const call_of = imported("taeda.compiler._capture", "call_of_generator");
  const SessionScope natively(nullptr);
  return Owned(need(PyObject_CallOneArg(call_of, generator)));
}

PyObject* upcoming(PyObject* iterator, int ahead) {
  PyTypeObject* type = Py_TYPE(iterator);
  const Owned state = state_of(iterator);
  if (!state) return refuses_changes(type) ? Py_NewRef(error_mark()) : nullptr;
  if (goes_through_deque(type)) {
    const auto* at = reinterpret_cast<DequeIterator*>(iterator);
    if (at->deque->state != at->state) return Py_NewRef(error_mark());
    auto* deque = reinterpret_cast<PyObject*>(at->deque);
    const Py_ssize_t place = PyLong_AsSsize_t(argument_of(state, 1)) + ahead;
    const bool is_reversed = goes_through_deque_backwards(type);
    return item_of(deque, is_reversed ? PySequence_Size(deque) - 1 - place : place).release();
  }
  if (goes_through_items(type) || goes_through_dict(type) || type == &PySetIter_Type)
    return item_of(argument_of(state, 0), place_of(state) + ahead).release();
  if (type == &PyListRevIter_Type)
    return item_of(argument_of(state, 0), place_of(state) - ahead).release();
  if (counts(type)) {
    PyObject* step = argument_of(state, 1);
    Owned times(PyLong_FromLong(ahead));
    Owned by(step == nullptr || !times ? std::move(times)
                                       : Owned(PyNumber_Multiply(step, times.get())));
    PyObject* number = by ? PyNumber_Add(argument_of(state, 0), by.get()) : nullptr;
    if (number == nullptr) PyErr_Clear();
    return number;
  }
  if (type == &PyEnum_Type) {
    Owned item(upcoming(argument_of(state, 0), ahead));
    if (item.get() == error_mark()) return item.release();
    Owned by(PyLong_FromLong(ahead));
    Owned number(item && by ? PyNumber_Add(argument_of(state, 1), by.get()) : nullptr);
    PyObject* pair = number ? PyTuple_Pack(2, number.get(), item.get()) : nullptr;
    if (pair == nullptr) PyErr_Clear();
    return pair;
  }
  if (type != &PyZip_Type) return nullptr;
  PyObject* parts = PyTuple_GET_ITEM(state.get(), 1);
  Owned all(PyTuple_New(PyTuple_GET_SIZE(parts)));
  for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(parts); ++i) {
    PyObject* item = upcoming(PyTuple_GET_ITEM(parts, i), ahead);
    if (item == nullptr || item == error_mark()) return item;
    PyTuple_SET_ITEM(all.get(), i, item);
  }
  if (!all) PyErr_Clear();
  return all.release();
}

// Whether the captured program wrote to a container of the program.
bool Capture::is_changed(PyObject* container) {
  const auto own = stand_ins_.find(container);
  Twin* twin = own == stand_ins_.end() ? nullptr : twin_of(own->second);
  return twin != nullptr && is_changed(*twin, own->second);
}

bool Capture::is_changed(const Twin& twin, PyObject* own) {
  if (!twin.added.empty()) return true;
  if (PyDict_Check(own)) {
    if (PySet_GET_SIZE(twin.deleted.get()) > 0) return true;
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(own, &position, &key, &value))
      if (PyDict_GetItemWithError(twin.seen.get(), key) != value) return true;
    return twin.is_open && PyDict_GET_SIZE(own) < PyDict_GET_SIZE(twin.seen.get());
  }
  if (!twin.is_open) return false;
  const Owned items(need(items_in_order(own)));
  const auto count = static_cast<Py_ssize_t>(twin.snapshot.size());
  if (PyTuple_GET_SIZE(items.get()) != count) return true;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = twin.snapshot[static_cast<size_t>(i)];
    if (PySet_Check(own) ? PySet_Contains(own, item) != 1
                         : PyTuple_GET_ITEM(items.get(), i) != item)
      return true;
  }
  return false;
}

// What an iterator of the program gives next, a new reference; null at its end.
PyObject* Capture::next_of(PyObject* iterator) {
  const auto unknown = [&] {
    return Break{std::string("an operation on ") + Py_TYPE(iterator)->tp_name};
  };
  const Outside* outside = find(iterator);
  std::vector<PyObject*> parts, containers;
  if (outside == nullptr || outside->source < 0 || !find_parts(iterator, parts, containers))
    throw unknown();
  for (PyObject* part : parts) {
    check_untaken(part);
    // One iterator alone knows how far it is.
    const auto [owner, is_new] = iterator_of_part_.try_emplace(part, iterator);
    if (is_new) keep(part);
    if (owner->second != iterator) throw unknown();
    if (PyObject* container = iterated_by_keys(part)) containers.push_back(container);
  }
  for (PyObject* container : containers) {
    check_unwritten(container);
    if (is_changed(container)) throw unknown();
  }
  auto at = std::find_if(taken_.begin(), taken_.end(),
                         [&](const Taken& taken) { return taken.iterator == iterator; });
  if (at == taken_.end()) at = taken_.insert(taken_.end(), {.iterator = iterator});
  if (at->is_at_end) return nullptr;
  const int source = sources_.of(Step::Upcoming, outside->source, at->count);
  Owned real(upcoming(iterator, at->count));
  if (real.get() == error_mark()) throw unknown();
  // An item that cannot be imported is not taken: the program takes it behind the break.
  Owned item(real ? import(real.get(), source) : nullptr);
  ++at->count;
  ++writes_;
  if (item) return item.release();
  at->is_at_end = true;
  check(Check::Kind::Unbound, source);
  return nullptr;
}

Flow Capture::for_iter(State& state, int argument) {
  if (!is_opaque(state.peek(1))) {
    open(state.peek(1));
    return run::FOR_ITER_(state, argument);
  }
  if (PyObject* value = next_of(state.peek(1))) return state.push_or_raise(value);
  Py_DECREF(state.pop());
  state.jump();
  state.next += PY_MINOR_VERSION - 11;
  return Flow::Next;
}

// iter and next, as C has them behind list.__iter__ and list_iterator.__next__; null for others.
PyObject* Capture::function_of_slot(const Call& call) {
  static PyObject* const iter = imported("builtins", "iter");
  static PyObject* const next = imported("builtins", "next");
  if (!Py_IS_TYPE(call.callable, &PyWrapperDescr_Type) || call.values.size() != 1) return nullptr;
  const auto* slot = reinterpret_cast<PyWrapperDescrObject*>(call.callable);
  const PyTypeObject* type = Py_TYPE(call.values[0]);
  const std::string_view name = slot->d_base->name;
  const auto is_of = [&](auto* function) {
    return reinterpret_cast<void*>(function) == slot->d_wrapped;
  };
  if (name == "__iter__" && is_of(type->tp_iter)) return iter;
  return name == "__next__" && is_of(type->tp_iternext) ? next : nullptr;
}

// next(iterator[, default])
PyObject* Capture::call_next(const Call& call) {
  if (PyObject* value = next_of(call.values[0])) return value;
  if (call.values.size() == 2) return Py_NewRef(call.values[1]);
  PyErr_SetNone(PyExc_StopIteration);
  throw Raised{};
}

}  // namespace taeda::dynamo
