// Functions and calls. A call of a Python function gets a frame of its own from the evaluator, so
// that the callee runs in the same loop; everything else is called through the C API.
#include <string_view>
#include <vector>

#include "taeda/dynamo/evaluator/arguments.h"
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo::run {

namespace {

// The words of a call on the stack: a callable and perhaps its object, then the values.
struct Call {
  PyObject** words;  // the first of the callable's two words
  PyObject** values;
  PyObject* callable;
  int count;  // of values, with those of keyword arguments
};

Call call_on_stack(State& state, int count) {
  PyObject** words = state.top - count - 2;
#if PY_MINOR_VERSION >= 13
  PyObject*& callable = words[0];
  PyObject*& self = words[1];
  const bool has_self = self != nullptr;
#else
  const bool has_self = words[0] != nullptr;
  PyObject*& callable = words[has_self ? 0 : 1];
  PyObject*& self = words[1];
#endif
  if (!has_self && Py_IS_TYPE(callable, &PyMethod_Type)) {
    Owned method(callable);
    words[0] = Py_NewRef(PyMethod_GET_FUNCTION(method.get()));
    words[1] = Py_NewRef(PyMethod_GET_SELF(method.get()));
    return {words, words + 1, words[0], count + 1};
  }
  if (has_self) return {words, &self, callable, count + 1};
  return {words, words + 2, callable, count};
}

void drop_call(State& state, PyObject** words) {
  PyObject** top = state.top;
  state.top = words;
  for (PyObject** word = words; word < top; ++word) Py_XDECREF(*word);
}

// Whether a call gets a frame of the evaluator: a Python function whose code the session takes.
bool may_enter(State& state, PyObject* callable) {
  if (!is_plain_function(callable)) return false;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(callable));
  if (!state.session->takes(state.thread, code)) return false;
  if (decoded(code) != nullptr) return true;
  PyErr_Clear();  // no memory for the decoded form: CPython needs none
  return false;
}

// Calls what lies on the stack; the frame of a Python function becomes the callee.
Flow make_call(State& state, int count, PyObject* names) {
  const Call call = call_on_stack(state, count);
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  const Arguments arguments{call.values, call.count - named, names};
  state.checks = true;
  if (may_enter(state, call.callable)) {
    bool raised = false;
    auto* function = reinterpret_cast<PyFunctionObject*>(call.callable);
    state.callee = frame_for_call(state.thread, function, arguments, state.frame, raised);
    if (raised) return Flow::Raise;
    if (state.callee != nullptr) {
      drop_call(state, call.words);
      return Flow::Enter;
    }
  }
  PyObject* result = PyObject_Vectorcall(
      call.callable, call.values, arguments.positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
  drop_call(state, call.words);
  return state.push_or_raise(result);
}

}  // namespace

#if PY_MINOR_VERSION <= 12
Flow KW_NAMES_(State& state, int argument) {
  state.keyword_names = state.constant(argument);
  return Flow::Next;
}
#endif

#if PY_MINOR_VERSION == 11
// CALL unpacks bound methods itself.
Flow PRECALL_(State&, int) { return Flow::Next; }
#endif

Flow CALL_(State& state, int argument) {
  PyObject* names = state.keyword_names;
  state.keyword_names = nullptr;
  return make_call(state, argument, names);
}

#if PY_MINOR_VERSION >= 13
Flow CALL_KW_(State& state, int argument) {
  Owned names = state.take();
  return make_call(state, argument, names.get());
}
#endif

namespace {

void explain_iterable(PyObject* function, PyObject* values) {
  PyErr_Clear();
  Owned text(_PyObject_FunctionStr(function));
  if (!text) return;
  PyErr_Format(PyExc_TypeError, "%U argument after * must be an iterable, not %.200s", text.get(),
               Py_TYPE(values)->tp_name);
}

Owned as_tuple(PyObject* function, PyObject* values) {
  if (PyTuple_CheckExact(values)) return Owned(Py_NewRef(values));
  if (Py_TYPE(values)->tp_iter == nullptr && !PySequence_Check(values)) {
    explain_iterable(function, values);
    return Owned();
  }
  return Owned(PySequence_Tuple(values));
}

// A frame for `function(*values, **keywords)`, or null: as `frame_for_call`.
TaedaFrame* frame_for_unpacked(State& state, PyFunctionObject* function, PyObject* values,
                               PyObject* keywords, bool& raised) {
  const Py_ssize_t positional = PyTuple_GET_SIZE(values);
  std::vector<PyObject*> flat(&PyTuple_GET_ITEM(values, 0), &PyTuple_GET_ITEM(values, positional));
  Owned names;
  if (keywords != nullptr && PyDict_GET_SIZE(keywords) > 0) {
    names = Owned(PyTuple_New(PyDict_GET_SIZE(keywords)));
    raised = true;
    if (!names) return nullptr;
    Py_ssize_t position = 0, i = 0;
    PyObject *key, *value;
    while (PyDict_Next(keywords, &position, &key, &value)) {
      PyTuple_SET_ITEM(names.get(), i++, Py_NewRef(key));
      flat.push_back(value);
    }
  }
  return frame_for_call(state.thread, function, {flat.data(), positional, names.get()}, state.frame,
                        raised);
}

}  // namespace

Flow CALL_FUNCTION_EX_(State& state, int argument) {
  Owned keywords(argument & 1 ? state.pop() : nullptr);
  Owned values = state.take();
#if PY_MINOR_VERSION >= 13
  state.pop();  // the empty word of the callable
  Owned function = state.take();
#else
  Owned function = state.take();
  state.pop();
#endif
  if (keywords && !PyDict_CheckExact(keywords.get())) {
    Owned merged(PyDict_New());
    if (!merged || PyDict_Update(merged.get(), keywords.get()) < 0) return Flow::Raise;
    keywords = std::move(merged);
  }
  Owned tuple = as_tuple(function.get(), values.get());
  if (!tuple) return Flow::Raise;
  state.checks = true;
  if (may_enter(state, function.get())) {
    bool raised = false;
    state.callee = frame_for_unpacked(state, reinterpret_cast<PyFunctionObject*>(function.get()),
                                      tuple.get(), keywords.get(), raised);
    if (raised) return Flow::Raise;
    if (state.callee != nullptr) return Flow::Enter;
  }
  return state.push_or_raise(PyObject_Call(function.get(), tuple.get(), keywords.get()));
}

namespace {

// Bits of MAKE_FUNCTION's and SET_FUNCTION_ATTRIBUTE's arguments.
enum { kDefaults = 1, kKeywordDefaults = 2, kAnnotations = 4, kClosure = 8 };

void set_attribute(PyObject* object, int bit, PyObject* value) {
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  PyObject*& field = bit == kDefaults          ? function->func_defaults
                     : bit == kKeywordDefaults ? function->func_kwdefaults
                     : bit == kAnnotations     ? function->func_annotations
                                               : function->func_closure;
  Py_XSETREF(field, value);
}

PyObject* make_function(State& state) {
  Owned code = state.take();
  return PyFunction_New(code.get(), taeda_frame_globals(state.frame));
}

}  // namespace

#if PY_MINOR_VERSION >= 13
Flow MAKE_FUNCTION_(State& state, int) { return state.push_or_raise(make_function(state)); }

Flow SET_FUNCTION_ATTRIBUTE_(State& state, int argument) {
  PyObject* function = state.pop();
  set_attribute(function, argument, state.pop());
  state.push(function);
  return Flow::Next;
}
#else
Flow MAKE_FUNCTION_(State& state, int argument) {
  PyObject* function = make_function(state);
  if (function == nullptr) return Flow::Raise;
  for (int bit : {kClosure, kAnnotations, kKeywordDefaults, kDefaults}) {
    if (argument & bit) set_attribute(function, bit, state.pop());
  }
  state.push(function);
  return Flow::Next;
}
#endif

Flow RETURN_VALUE_(State& state, int) {
  state.result = state.pop();
  return Flow::Return;
}

#if PY_MINOR_VERSION >= 12
Flow RETURN_CONST_(State& state, int argument) {
  state.result = Py_NewRef(state.constant(argument));
  return Flow::Return;
}

namespace {

// Numbers of CALL_INTRINSIC_1; the others hand the frame back.
enum { kStopIterationError = 3, kUnaryPositive = 5, kListToTuple = 6 };

// PEP 479: a StopIteration that leaves a generator's body becomes a RuntimeError.
PyObject* stop_iteration_error(State& state, PyObject* exception) {
  const int flags = state.code->object->co_flags;
  const char* text = nullptr;
  if (PyErr_GivenExceptionMatches(exception, PyExc_StopIteration)) {
    text = flags & CO_ASYNC_GENERATOR ? "async generator raised StopIteration"
           : flags & CO_COROUTINE     ? "coroutine raised StopIteration"
                                      : "generator raised StopIteration";
  } else if ((flags & CO_ASYNC_GENERATOR) &&
             PyErr_GivenExceptionMatches(exception, PyExc_StopAsyncIteration)) {
    text = "async generator raised StopAsyncIteration";
  }
  if (text == nullptr) return Py_NewRef(exception);
  Owned message(PyUnicode_FromString(text));
  if (!message) return nullptr;
  PyObject* error = PyObject_CallOneArg(PyExc_RuntimeError, message.get());
  if (error == nullptr) return nullptr;
  PyException_SetCause(error, Py_NewRef(exception));
  PyException_SetContext(error, Py_NewRef(exception));
  return error;
}

}  // namespace

Flow CALL_INTRINSIC_1_(State& state, int argument) {
  switch (argument) {
    case kStopIterationError: {
      Owned value = state.take();
      return state.push_or_raise(stop_iteration_error(state, value.get()));
    }
    case kUnaryPositive: {
      Owned value = state.take();
      return state.push_or_raise(PyNumber_Positive(value.get()));
    }
    case kListToTuple: {
      Owned value = state.take();
      return state.push_or_raise(PyList_AsTuple(value.get()));
    }
    default: return Flow::HandBack;
  }
}
#endif

}  // namespace taeda::dynamo::run
