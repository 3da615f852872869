// Generators, coroutines and asynchronous iteration.
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/state.h"

// Exported by every version, declared by some.
extern "C" PyAPI_FUNC(PyObject*) _PyErr_FormatFromCause(PyObject* type, const char* format, ...);

namespace taeda::dynamo::run {

Flow YIELD_VALUE_(State& state, int) {
  state.result = state.pop();
  return Flow::Yield;
}

// Sends a value on to the iterator below it. When that one is finished, 3.11 puts its result in its
// place, later versions above it for END_SEND.
Flow SEND_(State& state, int) {
  PyObject* receiver = state.peek(2);
  PyObject* result = nullptr;
  const PySendResult status = PyIter_Send(receiver, state.peek(1), &result);
  if (status == PYGEN_ERROR) return Flow::Raise;
  Py_DECREF(state.pop());
  if (status == PYGEN_RETURN) {
    state.jump();
#if PY_MINOR_VERSION == 11
    Py_DECREF(state.pop());
#endif
  }
  state.push(result);
  return Flow::Next;
}

Flow GET_YIELD_FROM_ITER_(State& state, int) {
  PyObject* iterable = state.peek(1);
  if (PyCoro_CheckExact(iterable)) {
    if (state.code->object->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)) return Flow::Next;
    PyErr_SetString(PyExc_TypeError,
                    "cannot 'yield from' a coroutine object in a non-coroutine generator");
    return Flow::Raise;
  }
  if (PyGen_CheckExact(iterable)) return Flow::Next;
  Owned taken = state.take();
  return state.push_or_raise(PyObject_GetIter(taken.get()));
}

#if PY_MINOR_VERSION >= 12
// The end of a throw() into what `yield from` delegates to: StopIteration carries its result.
Flow CLEANUP_THROW_(State& state, int) {
  PyObject* exception = state.peek(1);
  if (!PyErr_GivenExceptionMatches(exception, PyExc_StopIteration)) {
    taeda_set_raised(Py_NewRef(exception));
    return Flow::Reraise;
  }
  PyObject* value = Py_NewRef(reinterpret_cast<PyStopIterationObject*>(exception)->value);
  for (int i = 0; i < 3; ++i) Py_DECREF(state.pop());
  state.push(Py_NewRef(Py_None));
  state.push(value);
  return Flow::Next;
}
#endif

namespace {

// Coroutines, and generators that types.coroutine marked.
bool is_coroutine(PyObject* object) {
  if (PyCoro_CheckExact(object)) return true;
  if (!PyGen_CheckExact(object)) return false;
  Owned code(PyObject_GetAttrString(object, "gi_code"));
  return code && reinterpret_cast<PyCodeObject*>(code.get())->co_flags & CO_ITERABLE_COROUTINE;
}

unaryfunc await_method(PyObject* object) {
  PyAsyncMethods* methods = Py_TYPE(object)->tp_as_async;
  return methods == nullptr ? nullptr : methods->am_await;
}

// What `await` runs for an object; empty with TypeError.
Owned awaitable_iterator(PyObject* object) {
  if (is_coroutine(object)) return Owned(Py_NewRef(object));
  const unaryfunc method = await_method(object);
  if (method == nullptr) {
    PyErr_Format(PyExc_TypeError, "object %.100s can't be used in 'await' expression",
                 Py_TYPE(object)->tp_name);
    return Owned();
  }
  Owned iterator(method(object));
  if (!iterator) return iterator;
  if (is_coroutine(iterator.get())) {
    PyErr_SetString(PyExc_TypeError, "__await__() returned a coroutine");
    return Owned();
  }
  if (!PyIter_Check(iterator.get())) {
    PyErr_Format(PyExc_TypeError, "__await__() returned non-iterator of type '%.100s'",
                 Py_TYPE(iterator.get())->tp_name);
    return Owned();
  }
  return iterator;
}

}  // namespace

// The argument says what is awaited: 0 anything, 1 the result of __aenter__, 2 that of __aexit__.
Flow GET_AWAITABLE_(State& state, int argument) {
  Owned object = state.take();
  Owned iterator = awaitable_iterator(object.get());
  if (!iterator) {
    if (argument != 0 && await_method(object.get()) == nullptr) {
      PyErr_Format(PyExc_TypeError,
                   "'async with' received an object from %s that does not implement __await__: "
                   "%.100s",
                   argument == 1 ? "__aenter__" : "__aexit__", Py_TYPE(object.get())->tp_name);
    }
    return Flow::Raise;
  }
  if (PyCoro_CheckExact(iterator.get())) {
    Owned awaited(PyObject_GetAttrString(iterator.get(), "cr_await"));
    if (!awaited) return Flow::Raise;
    if (awaited.get() != Py_None) {
      PyErr_SetString(PyExc_RuntimeError, "coroutine is being awaited already");
      return Flow::Raise;
    }
  }
  return state.push_or_raise(iterator.release());
}

Flow GET_AITER_(State& state, int) {
  Owned object = state.take();
  PyAsyncMethods* methods = Py_TYPE(object.get())->tp_as_async;
  if (methods == nullptr || methods->am_aiter == nullptr) {
    PyErr_Format(PyExc_TypeError,
                 "'async for' requires an object with __aiter__ method, got %.100s",
                 Py_TYPE(object.get())->tp_name);
    return Flow::Raise;
  }
  Owned iterator(methods->am_aiter(object.get()));
  if (!iterator) return Flow::Raise;
  PyAsyncMethods* steps = Py_TYPE(iterator.get())->tp_as_async;
  if (steps == nullptr || steps->am_anext == nullptr) {
    PyErr_Format(PyExc_TypeError,
                 "'async for' received an object from __aiter__ that does not implement "
                 "__anext__: %.100s",
                 Py_TYPE(iterator.get())->tp_name);
    return Flow::Raise;
  }
  return state.push_or_raise(iterator.release());
}

Flow GET_ANEXT_(State& state, int) {
  PyObject* iterator = state.peek(1);
  PyAsyncMethods* methods = Py_TYPE(iterator)->tp_as_async;
  if (methods == nullptr || methods->am_anext == nullptr) {
    PyErr_Format(PyExc_TypeError,
                 "'async for' requires an iterator with __anext__ method, got %.100s",
                 Py_TYPE(iterator)->tp_name);
    return Flow::Raise;
  }
  Owned next(methods->am_anext(iterator));
  if (!next || PyAsyncGen_CheckExact(iterator)) return state.push_or_raise(next.release());
  Owned awaitable = awaitable_iterator(next.get());
  if (!awaitable) {
    _PyErr_FormatFromCause(PyExc_TypeError,
                           "'async for' received an invalid object from __anext__: %.100s",
                           Py_TYPE(next.get())->tp_name);
    return Flow::Raise;
  }
  return state.push_or_raise(awaitable.release());
}

Flow END_ASYNC_FOR_(State& state, int) {
  PyObject* exception = state.peek(1);
  if (!PyErr_GivenExceptionMatches(exception, PyExc_StopAsyncIteration)) {
    taeda_set_raised(Py_NewRef(exception));
    return Flow::Reraise;
  }
  Py_DECREF(state.pop());
  Py_DECREF(state.pop());
  return Flow::Next;
}

}  // namespace taeda::dynamo::run
