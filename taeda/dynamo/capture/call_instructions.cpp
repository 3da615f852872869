// The instructions of a capture that call: calls, `with`, generators, class patterns.
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/handlers.h"

namespace taeda::dynamo {

Flow Capture::finish_call(State& state, PyObject** words, Call given) {
  // The words stay on the stack until the call is made: it may be a break.
  PyObject* result = call(state, std::move(given));
  PyObject** top = state.top;
  state.top = words;
  for (PyObject** word = words; word < top; ++word) Py_XDECREF(*word);
  if (result == nullptr) return Flow::Enter;
  if (!is_immutable(result) && !recorder_.is_value(result)) made_at_[result] = num_executed_;
  state.push(result);
  return Flow::Next;
}

namespace {

struct Words {
  PyObject** first;
  PyObject* callable;
  PyObject** values;
  size_t count;
};

Words words_of(State& state, int count) {
  PyObject** words = state.top - count - 2;
#if PY_MINOR_VERSION >= 13
  const bool has_self = words[1] != nullptr;
  PyObject* callable = words[0];
  PyObject** values = has_self ? words + 1 : words + 2;
#else
  const bool has_self = words[0] != nullptr;
  PyObject* callable = words[has_self ? 0 : 1];
  PyObject** values = has_self ? words + 1 : words + 2;
#endif
  return {words, callable, values, static_cast<size_t>(count + (has_self ? 1 : 0))};
}

}  // namespace

Flow Capture::call_instruction(State& state, int argument) {
  PyObject* names = state.keyword_names;
  const Words words = words_of(state, argument);
  const size_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  Call call{words.callable, {words.values, words.values + words.count}, words.count - named, names};
  const Flow flow = finish_call(state, words.first, std::move(call));
  state.keyword_names = nullptr;
  return flow;
}

Flow Capture::call_kw(State& state, int argument) {
  Owned names = state.take();
  const Words words = words_of(state, argument);
  const size_t named = PyTuple_GET_SIZE(names.get());
  Call call{
      words.callable, {words.values, words.values + words.count}, words.count - named, names.get()};
  return finish_call(state, words.first, std::move(call));
}

Flow Capture::call_function_ex(State& state, int argument) {
  const bool has_keywords = argument & 1;
  PyObject* keywords = has_keywords ? state.peek(1) : nullptr;
  PyObject* values = state.peek(has_keywords ? 2 : 1);
  PyObject** words = state.top - (has_keywords ? 4 : 3);
#if PY_MINOR_VERSION >= 13
  PyObject* callable = words[0];
#else
  PyObject* callable = words[1];
#endif
  if (is_opaque(values)) throw Break{"arguments that are not known"};
  open(values);
  Owned tuple(need(PySequence_Tuple(values)));
  keep(tuple.get());
  Call call{callable, {}, 0, nullptr};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i)
    call.values.push_back(PyTuple_GET_ITEM(tuple.get(), i));
  call.positional = call.values.size();
  Owned names;
  if (keywords != nullptr) {
    if (!PyDict_CheckExact(keywords)) throw Break{"keyword arguments that are no dict"};
    open(keywords);
    names = Owned(need(PyTuple_New(PyDict_GET_SIZE(keywords))));
    Py_ssize_t position = 0, i = 0;
    PyObject *key, *value;
    while (PyDict_Next(keywords, &position, &key, &value)) {
      PyTuple_SET_ITEM(names.get(), i++, Py_NewRef(key));
      call.values.push_back(value);
    }
    if (i > 0) call.names = names.get();
  }
  return finish_call(state, words, std::move(call));
}

// `with`: __exit__ stays below what __enter__ gives.
Flow Capture::before_with(State& state, int argument) {
  static PyObject* const enter_name = PyUnicode_InternFromString("__enter__");
  static PyObject* const exit_name = PyUnicode_InternFromString("__exit__");
  Owned manager(Py_NewRef(state.peek(1)));
  PyTypeObject* type = Py_TYPE(manager.get());
  PyObject* enter = _PyType_Lookup(type, enter_name);
  PyObject* exit = _PyType_Lookup(type, exit_name);
  if (enter == nullptr || exit == nullptr) return run::BEFORE_WITH_(state, argument);
  if (is_opaque(manager.get()) && recorder_.kind_of(enter) != CallKind::Lock)
    throw Break{std::string("a scope of ") + type->tp_name};
  check_class(type);
  Owned entering(bind(enter, manager.get(), type, enter_name));
  Owned leaving(bind(exit, manager.get(), type, exit_name));
  keep(entering.get());
  Py_DECREF(state.pop());
  state.push(leaving.release());
  return finish_call(state, state.top, {entering.get(), {}, 0, nullptr});
}

// On the stack: __exit__, the raising unit, the exception before, the exception.
Flow Capture::with_except_start(State& state, int) {
  PyObject* exception = state.peek(1);
  Owned traceback(PyException_GetTraceback(exception));
  if (traceback) keep(traceback.get());
  Call call{state.peek(4),
            {reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception,
             traceback ? traceback.get() : Py_None},
            3,
            nullptr};
  return finish_call(state, state.top, std::move(call));
}

// A generator of a called function is made by CPython at once; its body comes back when it runs.
Flow Capture::return_generator(State& state, int) {
  if (frame_of(state).number == 0) throw Abandoned{"a generator function"};
  last_generator_at_ = num_executed_;
  frames_.erase(state.frame);
  return Flow::HandBack;
}

// A class pattern reads attributes as the program does; what the evaluator would refuse is a break.
Flow Capture::match_class(State& state, int argument) {
  PyObject* names = state.peek(1);
  PyObject* type = state.peek(2);
  Owned subject(Py_NewRef(state.peek(3)));
  if (!PyType_Check(type) || is_opaque(subject.get())) throw Break{"a class pattern"};
  PyTypeObject* own = recorder_.is_value(subject.get()) ? recorder_.class_of(subject.get())
                                                        : Py_TYPE(subject.get());
  if (Py_TYPE(type) != &PyType_Type) throw Break{"a class pattern of a class with its own class"};
  check_class(reinterpret_cast<PyTypeObject*>(type));
  Owned values;
  if (PyType_IsSubtype(own, reinterpret_cast<PyTypeObject*>(type))) {
    values = Owned(need(PyList_New(0)));
    std::vector<PyObject*> wanted;
    Owned positions;
    if (argument > 0) {
      positions = Owned(PyObject_GetAttrString(type, "__match_args__"));
      if (!positions) PyErr_Clear();
      const bool is_itself =
          !positions && argument == 1 &&
          PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type), _Py_TPFLAGS_MATCH_SELF);
      const bool is_known = positions && PyTuple_CheckExact(positions.get()) &&
                            PyTuple_GET_SIZE(positions.get()) >= argument;
      if (!is_itself && !is_known) throw Break{"a class pattern"};
      if (is_itself) need(PyList_Append(values.get(), subject.get()));
      for (int i = 0; is_known && i < argument; ++i)
        wanted.push_back(PyTuple_GET_ITEM(positions.get(), i));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
      wanted.push_back(PyTuple_GET_ITEM(names, i));
    for (PyObject* name : wanted) {
      Owned value;
      try {
        value = Owned(attribute(subject.get(), name));
      } catch (const Raised&) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
        PyErr_Clear();
        values = Owned();
        break;
      }
      need(PyList_Append(values.get(), value.get()));
    }
  }
  PyObject* result = values ? need(PyList_AsTuple(values.get())) : Py_NewRef(Py_None);
  for (int i = 0; i < 3; ++i) Py_DECREF(state.pop());
  state.push(result);
  return Flow::Next;
}

}  // namespace taeda::dynamo
