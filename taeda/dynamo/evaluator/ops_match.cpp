// Patterns of `match` statements.
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo::run {

Flow GET_LEN_(State& state, int) {
  const Py_ssize_t length = PyObject_Length(state.peek(1));
  return length < 0 ? Flow::Raise : state.push_or_raise(PyLong_FromSsize_t(length));
}

namespace {

Flow push_flag(State& state, unsigned long flag) {
  return state.push_or_raise(PyBool_FromLong((Py_TYPE(state.peek(1))->tp_flags & flag) != 0));
}

// Adds to the set of names or keys seen so far; 1 where it was there already, -1 raises.
int seen_before(PyObject* seen, PyObject* value) {
  const int found = PySet_Contains(seen, value);
  if (found != 0) return found;
  return PySet_Add(seen, value);
}

}  // namespace

Flow MATCH_SEQUENCE_(State& state, int) { return push_flag(state, Py_TPFLAGS_SEQUENCE); }
Flow MATCH_MAPPING_(State& state, int) { return push_flag(state, Py_TPFLAGS_MAPPING); }

namespace {

// The values of the keys as a tuple; None where one is missing; null raises. `get` with a sentinel
// keeps a defaultdict from making entries.
PyObject* match_keys(PyObject* map, PyObject* keys) {
  const Py_ssize_t count = PyTuple_GET_SIZE(keys);
  if (count == 0) return PyTuple_New(0);
  Owned get(PyObject_GetAttrString(map, "get"));
  Owned seen(PySet_New(nullptr));
  Owned missing(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  Owned values(PyTuple_New(count));
  if (!get || !seen || !missing || !values) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys, i);
    const int repeated = seen_before(seen.get(), key);
    if (repeated > 0)
      PyErr_Format(PyExc_ValueError, "mapping pattern checks duplicate key (%R)", key);
    if (repeated != 0) return nullptr;
    Owned value(PyObject_CallFunctionObjArgs(get.get(), key, missing.get(), nullptr));
    if (!value) return nullptr;
    if (value.get() == missing.get()) return Py_NewRef(Py_None);
    PyTuple_SET_ITEM(values.get(), i, value.release());
  }
  return values.release();
}

// A class pattern: attributes by position (through __match_args__), then by name.
class ClassPattern {
 public:
  ClassPattern(PyObject* subject, PyObject* type)
      : subject_(subject), type_(type), seen_(PySet_New(nullptr)), values_(PyList_New(0)) {}

  // The attributes as a tuple; null without an exception where the subject does not match.
  PyObject* match(Py_ssize_t positional, PyObject* names) {
    if (!PyType_Check(type_)) {
      PyErr_SetString(PyExc_TypeError, PY_MINOR_VERSION == 11
                                           ? "called match pattern must be a type"
                                           : "called match pattern must be a class");
      return nullptr;
    }
    const int is_instance = PyObject_IsInstance(subject_, type_);
    if (is_instance <= 0 || !seen_ || !values_) return nullptr;
    if (positional > 0 && !match_positions(positional)) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      if (!add_attribute(PyTuple_GET_ITEM(names, i))) return nullptr;
    }
    return PyList_AsTuple(values_.get());
  }

 private:
  const char* type_name() const { return reinterpret_cast<PyTypeObject*>(type_)->tp_name; }

  bool match_positions(Py_ssize_t positional) {
    Owned names(PyObject_GetAttrString(type_, "__match_args__"));
    bool matches_itself = false;
    if (names) {
      if (!PyTuple_CheckExact(names.get())) {
        PyErr_Format(PyExc_TypeError, "%s.__match_args__ must be a tuple (got %s)", type_name(),
                     Py_TYPE(names.get())->tp_name);
        return false;
      }
    } else {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
      PyErr_Clear();
      names = Owned(PyTuple_New(0));
      matches_itself =
          PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type_), _Py_TPFLAGS_MATCH_SELF);
    }
    const Py_ssize_t allowed = matches_itself ? 1 : PyTuple_GET_SIZE(names.get());
    if (allowed < positional) {
      PyErr_Format(PyExc_TypeError, "%s() accepts %zd positional sub-pattern%s (%zd given)",
                   type_name(), allowed, allowed == 1 ? "" : "s", positional);
      return false;
    }
    if (matches_itself) return PyList_Append(values_.get(), subject_) == 0;
    for (Py_ssize_t i = 0; i < positional; ++i) {
      PyObject* name = PyTuple_GET_ITEM(names.get(), i);
      if (!PyUnicode_CheckExact(name)) {
        PyErr_Format(PyExc_TypeError, "__match_args__ elements must be strings (got %s)",
                     Py_TYPE(name)->tp_name);
        return false;
      }
      if (!add_attribute(name)) return false;
    }
    return true;
  }

  bool add_attribute(PyObject* name) {
    const int repeated = seen_before(seen_.get(), name);
    if (repeated > 0) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple sub-patterns for attribute %R", type_name(),
                   name);
    }
    if (repeated != 0) return false;
    Owned value(PyObject_GetAttr(subject_, name));
    if (value) return PyList_Append(values_.get(), value.get()) == 0;
    if (PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
    return false;
  }

  PyObject* subject_;
  PyObject* type_;
  Owned seen_;
  Owned values_;
};

}  // namespace

Flow MATCH_KEYS_(State& state, int) {
  return state.push_or_raise(match_keys(state.peek(2), state.peek(1)));
}

Flow MATCH_CLASS_(State& state, int argument) {
  Owned names = state.take();
  Owned type = state.take();
  Owned subject = state.take();
  PyObject* values = ClassPattern(subject.get(), type.get()).match(argument, names.get());
  if (values == nullptr) {
    if (PyErr_Occurred()) return Flow::Raise;
    values = Py_NewRef(Py_None);
  }
  state.push(values);
  return Flow::Next;
}

}  // namespace taeda::dynamo::run
