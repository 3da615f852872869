// Exceptions and `with`.
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/messages.h"
#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo::run {

namespace {

PyObject* exception_of(PyObject* value, const char* refusal) {
  if (PyExceptionInstance_Check(value)) return Py_NewRef(value);
  if (!PyExceptionClass_Check(value)) {
    PyErr_SetString(PyExc_TypeError, refusal);
    return nullptr;
  }
  Owned made(PyObject_CallNoArgs(value));
  if (!made) return nullptr;
  return made.release();
}

Flow raise_again(State& state) {
  _PyErr_StackItem* item = state.thread->exc_info;
  while ((item->exc_value == nullptr || item->exc_value == Py_None) &&
         item->previous_item != nullptr) {
    item = item->previous_item;
  }
  if (item->exc_value == nullptr || item->exc_value == Py_None) {
    PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
    return Flow::Raise;
  }
  taeda_set_raised(Py_NewRef(item->exc_value));
  return Flow::Reraise;
}

}  // namespace

Flow RAISE_VARARGS_(State& state, int argument) {
  if (argument == 0) return raise_again(state);
  Owned cause(argument == 2 ? state.pop() : nullptr);
  Owned raised = state.take();
  Owned exception(exception_of(raised.get(), "exceptions must derive from BaseException"));
  if (!exception) return Flow::Raise;
  if (!PyExceptionInstance_Check(exception.get())) {
    PyErr_Format(PyExc_TypeError,
                 "calling %R should have returned an instance of BaseException, not %R",
                 raised.get(), Py_TYPE(exception.get()));
    return Flow::Raise;
  }
  if (cause) {
    Owned fixed;
    if (cause.get() != Py_None) {
      fixed = Owned(exception_of(cause.get(), "exception causes must derive from BaseException"));
      if (!fixed) return Flow::Raise;
#if PY_MINOR_VERSION >= 13
      if (!PyExceptionInstance_Check(fixed.get())) {
        PyErr_Format(PyExc_TypeError,
                     "calling %R should have returned an instance of BaseException, not %R",
                     cause.get(), Py_TYPE(fixed.get()));
        return Flow::Raise;
      }
#endif
    }
    PyException_SetCause(exception.get(), fixed.release());
  }
  PyObject* type = PyExceptionClass_Check(raised.get())
                       ? raised.get()
                       : reinterpret_cast<PyObject*>(Py_TYPE(exception.get()));
  PyErr_SetObject(type, exception.get());
  return Flow::Raise;
}

// The unit of the instruction that raised at first lies below: the traceback keeps its line.
Flow RERAISE_(State& state, int argument) {
  if (argument != 0) {
    taeda_frame_set_at(state.frame, static_cast<int>(PyLong_AsLong(state.peek(argument + 1))));
  }
  taeda_set_raised(state.pop());
  return Flow::Reraise;
}

Flow PUSH_EXC_INFO_(State& state, int) {
  PyObject* exception = state.pop();
  _PyErr_StackItem* item = state.thread->exc_info;
  state.push(item->exc_value == nullptr ? Py_NewRef(Py_None) : item->exc_value);
  item->exc_value = Py_NewRef(exception);
  state.push(exception);
  return Flow::Next;
}

Flow POP_EXCEPT_(State& state, int) {
  _PyErr_StackItem* item = state.thread->exc_info;
  PyObject* old = item->exc_value;
  item->exc_value = state.pop();
#if PY_MINOR_VERSION >= 13
  if (item->exc_value == Py_None) item->exc_value = nullptr;
#endif
  Py_XDECREF(old);
  return Flow::Next;
}

namespace {

bool is_exception_type(PyObject* type) {
  if (PyTuple_Check(type)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type); ++i) {
      if (!PyExceptionClass_Check(PyTuple_GET_ITEM(type, i))) return false;
    }
    return true;
  }
  return PyExceptionClass_Check(type);
}

}  // namespace

Flow CHECK_EXC_MATCH_(State& state, int) {
  Owned type = state.take();
  if (!is_exception_type(type.get())) {
    PyErr_SetString(PyExc_TypeError,
                    "catching classes that do not inherit from BaseException is not allowed");
    return Flow::Raise;
  }
  state.push(PyBool_FromLong(PyErr_GivenExceptionMatches(state.peek(1), type.get())));
  return Flow::Next;
}

namespace {

// Calls `enter` and leaves the bound exit method below its result.
Flow enter_context(State& state, const char* enter_name, const char* exit_name,
                   const char* protocol) {
  PyObject* manager = state.peek(1);
  Owned enter = special_method(manager, enter_name);
  if (!enter) {
    if (PyErr_Occurred()) return Flow::Raise;
    PyErr_Format(PyExc_TypeError, "'%.200s' object does not support the %s protocol",
                 Py_TYPE(manager)->tp_name, protocol);
    return Flow::Raise;
  }
  Owned exit = special_method(manager, exit_name);
  if (!exit) {
    if (PyErr_Occurred()) return Flow::Raise;
    PyErr_Format(PyExc_TypeError,
                 "'%.200s' object does not support the %s protocol (missed %s method)",
                 Py_TYPE(manager)->tp_name, protocol, exit_name);
    return Flow::Raise;
  }
  Py_DECREF(state.pop());
  PyObject* result = PyObject_CallNoArgs(enter.get());
  if (result == nullptr) return Flow::Raise;
  state.push(exit.release());
  state.push(result);
  return Flow::Next;
}

}  // namespace

Flow BEFORE_WITH_(State& state, int) {
  return enter_context(state, "__enter__", "__exit__", "context manager");
}

Flow BEFORE_ASYNC_WITH_(State& state, int) {
  return enter_context(state, "__aenter__", "__aexit__", "asynchronous context manager");
}

// On the stack: __exit__, the raising unit, the exception before, the exception.
Flow WITH_EXCEPT_START_(State& state, int) {
  PyObject* exception = state.peek(1);
  Owned traceback(PyException_GetTraceback(exception));
  PyObject* arguments[] = {nullptr, reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception,
                           traceback ? traceback.get() : Py_None};
  return state.push_or_raise(PyObject_Vectorcall(state.peek(4), arguments + 1,
                                                 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

}  // namespace taeda::dynamo::run
