#include "taeda/dynamo/evaluator/arguments.h"

#include <algorithm>

#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo {

namespace {

// What functions have as their vectorcall unless somebody replaced it.
vectorcallfunc plain_vectorcall() {
  static const vectorcallfunc plain = [] {
    Owned globals(PyDict_New());
    Owned code(reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "", 0)));
    Owned function(PyFunction_New(code.get(), globals.get()));
    return reinterpret_cast<PyFunctionObject*>(function.get())->vectorcall;
  }();
  return plain;
}

enum class Bound { Yes, No, Raised };

// Fills a frame's parameters; those already filled are released with the frame.
class Binder {
 public:
  Binder(PyFunctionObject* function, PyObject** slots)
      : function_(function),
        code_(reinterpret_cast<PyCodeObject*>(function->func_code)),
        slots_(slots) {}

  Bound bind(const Arguments& arguments) {
    const int named = code_->co_argcount + code_->co_kwonlyargcount;
    const bool takes_more = code_->co_flags & CO_VARARGS;
    if (code_->co_flags & CO_VARKEYWORDS) {
      keywords_ = slots_[named + takes_more] = PyDict_New();
      if (keywords_ == nullptr) return Bound::Raised;
    }
    const Py_ssize_t direct = std::min<Py_ssize_t>(arguments.positional, code_->co_argcount);
    for (Py_ssize_t i = 0; i < direct; ++i) slots_[i] = Py_NewRef(arguments.values[i]);
    if (takes_more) {
      slots_[named] = rest(arguments, direct);
      if (slots_[named] == nullptr) return Bound::Raised;
    } else if (arguments.positional > direct) {
      return Bound::No;
    }
    const Bound bound = bind_names(arguments);
    if (bound != Bound::Yes) return bound;
    return fill_defaults() ? fill_keyword_defaults() : Bound::No;
  }

 private:
  enum { kNone = -1, kRaised = -2 };

  static PyObject* rest(const Arguments& arguments, Py_ssize_t from) {
    PyObject* tuple = PyTuple_New(arguments.positional - from);
    for (Py_ssize_t i = from; tuple != nullptr && i < arguments.positional; ++i)
      PyTuple_SET_ITEM(tuple, i - from, Py_NewRef(arguments.values[i]));
    return tuple;
  }

  Bound bind_names(const Arguments& arguments) {
    if (arguments.names == nullptr) return Bound::Yes;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments.names); ++i) {
      PyObject* name = PyTuple_GET_ITEM(arguments.names, i);
      PyObject* value = arguments.values[arguments.positional + i];
      if (!PyUnicode_Check(name)) return Bound::No;
      const int slot = parameter(name);
      if (slot == kRaised) return Bound::Raised;
      if (slot == kNone) {
        if (keywords_ == nullptr) return Bound::No;
        if (PyDict_SetItem(keywords_, name, value) < 0) return Bound::Raised;
      } else if (slots_[slot] != nullptr) {
        return Bound::No;
      } else {
        slots_[slot] = Py_NewRef(value);
      }
    }
    return Bound::Yes;
  }

  // The slot of a name. Subclasses of str compare as they like.
  int parameter(PyObject* name) const {
    const int count = code_->co_argcount + code_->co_kwonlyargcount;
    PyObject* names = code_->co_localsplusnames;
    for (int i = code_->co_posonlyargcount; i < count; ++i) {
      if (PyTuple_GET_ITEM(names, i) == name) return i;
    }
    for (int i = code_->co_posonlyargcount; i < count; ++i) {
      const int equal = PyObject_RichCompareBool(name, PyTuple_GET_ITEM(names, i), Py_EQ);
      if (equal != 0) return equal < 0 ? kRaised : i;
    }
    return kNone;
  }

  bool fill_defaults() {
    PyObject* defaults = function_->func_defaults;
    const Py_ssize_t count = defaults == nullptr ? 0 : PyTuple_GET_SIZE(defaults);
    const Py_ssize_t first = code_->co_argcount - count;
    for (Py_ssize_t i = 0; i < code_->co_argcount; ++i) {
      if (slots_[i] != nullptr) continue;
      if (i < first) return false;
      slots_[i] = Py_NewRef(PyTuple_GET_ITEM(defaults, i - first));
    }
    return true;
  }

  Bound fill_keyword_defaults() {
    for (int i = 0; i < code_->co_kwonlyargcount; ++i) {
      const int slot = code_->co_argcount + i;
      if (slots_[slot] != nullptr) continue;
      if (function_->func_kwdefaults == nullptr) return Bound::No;
      PyObject* name = PyTuple_GET_ITEM(code_->co_localsplusnames, slot);
      PyObject* value = PyDict_GetItemWithError(function_->func_kwdefaults, name);
      if (value == nullptr) return PyErr_Occurred() ? Bound::Raised : Bound::No;
      slots_[slot] = Py_NewRef(value);
    }
    return Bound::Yes;
  }

  PyFunctionObject* function_;
  PyCodeObject* code_;
  PyObject** slots_;
  PyObject* keywords_ = nullptr;
};

}  // namespace

bool is_plain_function(PyObject* callable) {
  return Py_IS_TYPE(callable, &PyFunction_Type) &&
         reinterpret_cast<PyFunctionObject*>(callable)->vectorcall == plain_vectorcall();
}

bool bind_arguments(PyFunctionObject* function, const Arguments& arguments, PyObject** slots) {
  return Binder(function, slots).bind(arguments) == Bound::Yes;
}

TaedaFrame* frame_for_call(PyThreadState* thread, PyFunctionObject* function,
                           const Arguments& arguments, TaedaFrame* caller, bool& raised) {
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  PyObject* names = code->co_flags & CO_OPTIMIZED ? nullptr : function->func_globals;
  TaedaFrame* frame = taeda_frame_push(thread, function, code, names, caller);
  raised = true;
  if (frame == nullptr) return nullptr;
  const Bound bound = Binder(function, taeda_frame_slots(frame)).bind(arguments);
  raised = bound == Bound::Raised;
  if (bound == Bound::Yes) return frame;
  taeda_frame_pop(thread, frame);
  return nullptr;
}

}  // namespace taeda::dynamo
