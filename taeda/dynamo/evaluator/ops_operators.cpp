// Operators, subscripts and attributes.
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/messages.h"
#include "taeda/dynamo/evaluator/state.h"

// Exported by every version, declared by some.
extern "C" PyAPI_FUNC(int) _PyObject_GetMethod(PyObject* object, PyObject* name, PyObject** method);

namespace taeda::dynamo::run {

namespace {

Flow unary(State& state, PyObject* (*function)(PyObject*)) {
  Owned value = state.take();
  return state.push_or_raise(function(value.get()));
}

PyObject* power(PyObject* left, PyObject* right) { return PyNumber_Power(left, right, Py_None); }
PyObject* power_in_place(PyObject* left, PyObject* right) {
  return PyNumber_InPlacePower(left, right, Py_None);
}

using Binary = PyObject* (*)(PyObject*, PyObject*);

// In the order of BINARY_OP's argument.
constexpr Binary kBinary[] = {
    PyNumber_Add,
    PyNumber_And,
    PyNumber_FloorDivide,
    PyNumber_Lshift,
    PyNumber_MatrixMultiply,
    PyNumber_Multiply,
    PyNumber_Remainder,
    PyNumber_Or,
    power,
    PyNumber_Rshift,
    PyNumber_Subtract,
    PyNumber_TrueDivide,
    PyNumber_Xor,
    PyNumber_InPlaceAdd,
    PyNumber_InPlaceAnd,
    PyNumber_InPlaceFloorDivide,
    PyNumber_InPlaceLshift,
    PyNumber_InPlaceMatrixMultiply,
    PyNumber_InPlaceMultiply,
    PyNumber_InPlaceRemainder,
    PyNumber_InPlaceOr,
    power_in_place,
    PyNumber_InPlaceRshift,
    PyNumber_InPlaceSubtract,
    PyNumber_InPlaceTrueDivide,
    PyNumber_InPlaceXor,
};

PyObject* truth_of(PyObject* value) {
  const int truth = PyObject_IsTrue(value);
  return truth < 0 ? nullptr : PyBool_FromLong(truth);
}

PyObject* opposite_of(PyObject* value) {
  const int truth = PyObject_IsTrue(value);
  return truth < 0 ? nullptr : PyBool_FromLong(!truth);
}

}  // namespace

#if PY_MINOR_VERSION == 11
Flow UNARY_POSITIVE_(State& state, int) { return unary(state, PyNumber_Positive); }
#endif
Flow UNARY_NEGATIVE_(State& state, int) { return unary(state, PyNumber_Negative); }
Flow UNARY_INVERT_(State& state, int) { return unary(state, PyNumber_Invert); }
Flow UNARY_NOT_(State& state, int) { return unary(state, opposite_of); }
#if PY_MINOR_VERSION >= 13
Flow TO_BOOL_(State& state, int) { return unary(state, truth_of); }
#endif

Flow BINARY_OP_(State& state, int argument) {
  Owned right = state.take();
  Owned left = state.take();
  return state.push_or_raise(kBinary[argument](left.get(), right.get()));
}

// The comparison lies above flags for specialization in 3.12 and 3.13; 3.13 may ask for a bool.
Flow COMPARE_OP_(State& state, int argument) {
  constexpr int kShift = PY_MINOR_VERSION == 11 ? 0 : PY_MINOR_VERSION == 12 ? 4 : 5;
  constexpr int kAsBool = PY_MINOR_VERSION >= 13 ? 16 : 0;
  Owned right = state.take();
  Owned left = state.take();
  PyObject* result = PyObject_RichCompare(left.get(), right.get(), argument >> kShift);
  if (result != nullptr && (argument & kAsBool)) Py_SETREF(result, truth_of(result));
  return state.push_or_raise(result);
}

Flow IS_OP_(State& state, int argument) {
  Owned right = state.take();
  Owned left = state.take();
  return state.push_or_raise(PyBool_FromLong((left.get() == right.get()) ^ argument));
}

Flow CONTAINS_OP_(State& state, int argument) {
  Owned right = state.take();
  Owned left = state.take();
  const int found = PySequence_Contains(right.get(), left.get());
  if (found < 0) return Flow::Raise;
  return state.push_or_raise(PyBool_FromLong(found ^ argument));
}

Flow BINARY_SUBSCR_(State& state, int) {
  Owned key = state.take();
  Owned container = state.take();
  return state.push_or_raise(PyObject_GetItem(container.get(), key.get()));
}

Flow STORE_SUBSCR_(State& state, int) {
  Owned key = state.take();
  Owned container = state.take();
  Owned value = state.take();
  const int error = PyObject_SetItem(container.get(), key.get(), value.get());
  return error < 0 ? Flow::Raise : Flow::Next;
}

Flow DELETE_SUBSCR_(State& state, int) {
  Owned key = state.take();
  Owned container = state.take();
  return PyObject_DelItem(container.get(), key.get()) < 0 ? Flow::Raise : Flow::Next;
}

#if PY_MINOR_VERSION >= 12
namespace {

Owned take_slice(State& state) {
  Owned stop = state.take();
  Owned start = state.take();
  return Owned(PySlice_New(start.get(), stop.get(), nullptr));
}

}  // namespace

Flow BINARY_SLICE_(State& state, int) {
  Owned slice = take_slice(state);
  Owned container = state.take();
  if (!slice) return Flow::Raise;
  return state.push_or_raise(PyObject_GetItem(container.get(), slice.get()));
}

Flow STORE_SLICE_(State& state, int) {
  Owned slice = take_slice(state);
  Owned container = state.take();
  Owned value = state.take();
  if (!slice) return Flow::Raise;
  const int error = PyObject_SetItem(container.get(), slice.get(), value.get());
  return error < 0 ? Flow::Raise : Flow::Next;
}
#endif

namespace {

Flow load_method(State& state, PyObject* name) {
  PyObject* method = nullptr;
  const int is_method = _PyObject_GetMethod(state.peek(1), name, &method);
  if (method == nullptr) return Flow::Raise;
  PyObject* object = state.pop();
  state.push_callable(method, is_method ? object : nullptr);
  if (!is_method) Py_DECREF(object);
  return Flow::Next;
}

Flow load_attribute(State& state, PyObject* name) {
  Owned object = state.take();
  return state.push_or_raise(PyObject_GetAttr(object.get(), name));
}

}  // namespace

#if PY_MINOR_VERSION == 11
Flow LOAD_ATTR_(State& state, int argument) { return load_attribute(state, state.name(argument)); }
Flow LOAD_METHOD_(State& state, int argument) { return load_method(state, state.name(argument)); }
#else
Flow LOAD_ATTR_(State& state, int argument) {
  PyObject* name = state.name(argument >> 1);
  return argument & 1 ? load_method(state, name) : load_attribute(state, name);
}

// super().name, or super(type, object).name where bit 1 is set; a callable where bit 0 is.
Flow LOAD_SUPER_ATTR_(State& state, int argument) {
  Owned object = state.take();
  Owned type = state.take();
  Owned global = state.take();
  PyObject* arguments[] = {type.get(), object.get()};
  Owned super(PyObject_Vectorcall(global.get(), arguments, argument & 2, nullptr));
  if (!super) return Flow::Raise;
  PyObject* value = PyObject_GetAttr(super.get(), state.name(argument >> 2));
  if (value == nullptr) return Flow::Raise;
  if (argument & 1) {
    state.push_callable(value, nullptr);
  } else {
    state.push(value);
  }
  return Flow::Next;
}
#endif

Flow STORE_ATTR_(State& state, int argument) {
  Owned object = state.take();
  Owned value = state.take();
  const int error = PyObject_SetAttr(object.get(), state.name(argument), value.get());
  return error < 0 ? Flow::Raise : Flow::Next;
}

Flow DELETE_ATTR_(State& state, int argument) {
  Owned object = state.take();
  return PyObject_SetAttr(object.get(), state.name(argument), nullptr) < 0 ? Flow::Raise
                                                                           : Flow::Next;
}

}  // namespace taeda::dynamo::run
