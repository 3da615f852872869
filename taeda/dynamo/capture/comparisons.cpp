// Comparisons of objects of the program, by instructions and by functions of C.
#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <unordered_set>

#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/handlers.h"

namespace taeda::dynamo {

// Two objects of the program that are two must stay two.
void Capture::check_distinct(PyObject* a, PyObject* b) {
  const Outside* one = find(a);
  const Outside* other = find(b);
  if (a == b || one == nullptr || other == nullptr || Py_TYPE(a) != Py_TYPE(b) ||
      python::is_symbolic(a))  // compared by value
    return;
  if (one->source < 0 || other->source < 0) throw Break{"the identity of what only a run knows"};
  check_pair(Check::Kind::Distinct, one->source, other->source);
}

Flow Capture::is_op(State& state, int argument) {
  const auto is_number = [](PyObject* o) {
    return python::is_symbolic(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o);
  };
  if (is_number(state.peek(1)) && is_number(state.peek(2)))
    for (int i = 1; i <= 2; ++i) Py_SETREF(state.peek(i), number_of(state.peek(i)));
  check_distinct(state.peek(1), state.peek(2));
  return run::IS_OP_(state, argument);
}

// == and !=, as COMPARE_OP has them.
static bool asks_for_equality(int argument) {
  constexpr int kShift = PY_MINOR_VERSION == 11 ? 0 : PY_MINOR_VERSION == 12 ? 4 : 5;
  const int operation = argument >> kShift;
  return operation == Py_EQ || operation == Py_NE;
}

static bool is_compared_by_identity(PyObject* object) {
  return Py_TYPE(object)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

// An object of the program of a class of C that has a hash: a date, a decimal number. Nothing
// changes what it is equal to; of weak references what they refer to does. Arguments are others at
// every call.
bool Capture::is_value_of_c(PyObject* object) {
  const Outside* outside = find(object);
  int root = outside == nullptr ? -1 : outside->source;
  while (root >= 0 && sources_[root].parent >= 0) root = sources_[root].parent;
  const bool is_of_frame = root >= 0 && sources_[root].step == Step::Local;
  if (is_of_frame && sources_[root].frame < num_frames_) return false;
  if (outside == nullptr || !outside->is_opaque || outside->source < 0 ||
      outside->original != object || PyWeakref_Check(object))
    return false;
  static PyObject* const names[] = {PyUnicode_InternFromString("__eq__"),
                                    PyUnicode_InternFromString("__hash__")};
  return std::all_of(std::begin(names), std::end(names), [&](PyObject* name) {
    PyObject* found = _PyType_Lookup(Py_TYPE(object), name);
    return found != nullptr && Py_IS_TYPE(found, &PyWrapperDescr_Type);
  });
}

// Whether C compares two objects as the program does, some of which nobody looks into; with the
// guards for it.
bool Capture::can_compare(PyObject* a, PyObject* b, bool is_ordered) {
  const auto is_same = [&](PyObject* o) {
    return !is_opaque(o) || (!is_ordered && is_compared_by_identity(o));
  };
  const auto is_fixed = [&](PyObject* o) { return is_value_of_c(o) || is_immutable(o); };
  const bool is_identity = is_same(a) && is_same(b);
  if (!is_identity && !(is_fixed(a) && is_fixed(b))) return false;
  for (PyObject* operand : {a, b})
    if (!is_identity && is_opaque(operand)) check(Check::Kind::Is, find(operand)->source, operand);
  check_distinct(a, b);
  return true;
}

namespace {

// A special method of C that is bound: object().__str__. Python 3.13 declares its class no more.
bool is_method_wrapper(PyObject* object) {
  static PyObject* const type = imported("types", "MethodWrapperType");
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type;
}

// Whether C compares what the object holds when it compares the object.
bool holds_compared(PyObject* object) {
  return PyTuple_Check(object) || container_of(Py_TYPE(object)) != nullptr ||
         shown_mapping(object) != nullptr || PyMethod_Check(object) || PyCFunction_Check(object) ||
         is_method_wrapper(object);
}

// Functions of C that compare objects which they are given, or which these hold.
bool compares(PyObject* callable) {
  using Names = std::initializer_list<const char*>;
  static const std::unordered_set<PyObject*> functions = [] {
    std::unordered_set<PyObject*> all;
    const auto note = [&](const char* module, Names names) {
      for (const char* name : names) all.insert(need(imported(module, name)));
    };
    note("builtins", {"max", "min", "sorted"});
    note("itertools", {"groupby"});
    note("operator", {"contains", "countOf", "eq", "ge", "gt", "indexOf", "le", "lt", "ne"});
    note("bisect", {"bisect_left", "bisect_right", "insort_left", "insort_right"});
    note("heapq", {"heapify", "heappop", "heappush", "heappushpop", "heapreplace"});
    return all;
  }();
  if (functions.contains(callable)) return true;
  const PyTypeObject* kind = Py_TYPE(callable);
  if (kind != &PyMethodDescr_Type && kind != &PyWrapperDescr_Type) return false;
  static const std::unordered_set<std::string_view> methods{
      "__contains__", "__eq__", "__ge__", "__gt__", "__le__", "__lt__",
      "__ne__",       "count",  "index",  "remove", "sort"};
  const char* name = PyUnicode_AsUTF8(PyDescr_NAME(callable));
  return name != nullptr && methods.contains(name);
}

}  // namespace

// Note [Compared by C]: what C compares is the same when it is one object, whatever its class says,
// and most classes say nothing else. So objects of the program that C meets there and that are two
// stay two.
void Capture::note_compared_in(PyObject* object, Seen& seen) {
  if (recorder_.is_value(object) || python::is_symbolic(object) || is_immutable(object) ||
      PyType_Check(object))
    return;
  const auto note = [&](PyObject* part) {
    if (part != nullptr) note_compared_in(part, seen);
  };
  if (PyObject* mapping = shown_mapping(object)) return note(mapping);
  // Methods are equal when they are of one object.
  const auto note_owner = [&](PyObject* owner) {
    const Outside* outside = owner == nullptr ? nullptr : find(owner);
    if (outside != nullptr && outside->source >= 0) identities_.insert(outside->source);
  };
  if (PyMethod_Check(object)) {
    note_owner(PyMethod_GET_SELF(object));
    return note(PyMethod_GET_FUNCTION(object));
  }
  if (PyCFunction_Check(object)) return note_owner(PyCFunction_GET_SELF(object));
  if (is_method_wrapper(object))
    return note_owner(Owned(need(PyObject_GetAttrString(object, "__self__"))).get());
  if (PyTuple_Check(object) || container_of(Py_TYPE(object)) != nullptr) {
    if (!seen.insert(object).second) return;
    const bool is_deque = Py_IS_TYPE(object, deque_type());
    const Owned keys(PyDict_Check(object) ? keys_of(object) : Owned());
    const Owned items(need(PyDict_Check(object)     ? PyDict_Values(object)
                           : PyAnySet_Check(object) ? keys_in_order(object)
                           : is_deque               ? PySequence_List(object)
                                                    : Py_NewRef(object)));
    if (!PyList_Check(items.get()) && !PyTuple_Check(items.get())) return;
    for (const Owned* all : {&keys, &items})
      for (Py_ssize_t i = 0; *all && i < PySequence_Fast_GET_SIZE(all->get()); ++i)
        note(PySequence_Fast_GET_ITEM(all->get(), i));
    return;
  }
  const Outside* outside = find(object);
  if (outside == nullptr || outside->twin != nullptr || PyModule_Check(object)) return;
  if (outside->source < 0) throw Break{"the identity of what only a run knows"};
  if (!outside->is_opaque || is_compared_by_identity(object)) {
    identities_.insert(outside->source);
  } else if (is_value_of_c(object)) {
    check(Check::Kind::Is, outside->source, object);
  } else {
    throw Break{"a comparison of objects that are not known"};
  }
}

void Capture::note_compared(PyObject* object) {
  Seen seen;
  note_compared_in(object, seen);
}

// Of a search for an object.
void Capture::note_compared(PyObject* object, PyObject* container) {
  if (!holds_compared(container)) return;
  note_compared(object);
  if (!PyDict_Check(container) && !PyAnySet_Check(container)) note_compared(container);
}

// Whether a search asks an iterator for items one by one, which nobody sees but C.
bool Capture::is_found_by_going_on(PyObject* container) {
  static PyObject* const name = PyUnicode_InternFromString("__contains__");
  return _PyType_Lookup(Py_TYPE(container), name) == nullptr;
}

// The object stays another one than all objects of its class that were met so far.
void Capture::note_same_class(PyObject* object) {
  const Outside* own = find(object);
  if (own == nullptr || recorder_.is_value(object) || is_immutable(object)) return;
  for (const auto& [other, outside] : outside_)
    if (Py_TYPE(other) == Py_TYPE(object) && outside.source >= 0)
      identities_.insert(outside.source);
}

void Capture::note_compared(const Call& call) {
  if (compares(call.callable))
    for (PyObject* value : call.values) note_compared(value);
}

// Comparisons and hash as functions, of objects that nobody looks into.
bool Capture::asks_for_identity(const Call& call) {
  static PyObject* const is_same = imported("operator", "is_");
  static PyObject* const is_another = imported("operator", "is_not");
  if ((call.callable == is_same || call.callable == is_another) && call.values.size() == 2) {
    check_distinct(call.values[0], call.values[1]);
    return true;
  }
  static PyObject* const equalities[] = {imported("operator", "eq"), imported("operator", "ne")};
  static PyObject* const orders[] = {imported("operator", "lt"), imported("operator", "le"),
                                     imported("operator", "gt"), imported("operator", "ge")};
  const auto is_one = [&](const auto& all) {
    return std::find(std::begin(all), std::end(all), call.callable) != std::end(all);
  };
  const bool is_ordered = is_one(orders);
  return (is_ordered || is_one(equalities)) && call.values.size() == 2 &&
         can_compare(call.values[0], call.values[1], is_ordered);
}

Flow Capture::compare_op(State& state, int argument) {
  const bool is_ordered = !asks_for_equality(argument);
  for (int i = 1; i <= 2; ++i) open_deep(state.peek(i));
  if (!can_compare(state.peek(2), state.peek(1), is_ordered) || holds_namespace(state.peek(1)) ||
      holds_namespace(state.peek(2)))
    throw Break{"a comparison of objects that are not known"};
  for (int i = 1; i <= 2; ++i)
    if (holds_compared(state.peek(1)) || holds_compared(state.peek(2)))
      note_compared(state.peek(i));
  if (is_address(state.peek(1)) && is_address(state.peek(2)) && !is_ordered) {
    // Different objects stay different.
  } else if (is_address(state.peek(1)) || is_address(state.peek(2)) || is_ordered) {
    for (int i = 1; i <= 2; ++i) need_settled(state.peek(i));
  } else {
    settle_met(state.peek(1), state.peek(2));
  }
  // 3.13 may ask for the truth of the result.
  constexpr int kAsBool = PY_MINOR_VERSION >= 13 ? 16 : 0;
  if ((argument & kAsBool) == 0) return run::COMPARE_OP_(state, argument);
  const Flow flow = run::COMPARE_OP_(state, argument & ~kAsBool);
  return flow == Flow::Next ? to_bool(state, 0) : flow;
}

}  // namespace taeda::dynamo
