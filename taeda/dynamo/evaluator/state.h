// What an instruction sees: the frame that runs, its value stack and its place in the code.
#pragma once

#include <Python.h>

#include "taeda/dynamo/evaluator/code.h"
#include "taeda/dynamo/evaluator/owned.h"
#include "taeda/dynamo/evaluator/session.h"
#include "taeda/dynamo/frames/frames.h"

namespace taeda::dynamo {

// The value stack grows upwards: `top` is one past its last value. Values on it are owned.
struct State {
  PyThreadState* thread = nullptr;
  const Session* session = nullptr;
  TaedaFrame* frame = nullptr;
  const Code* code = nullptr;
  PyObject** slots = nullptr;
  PyObject** top = nullptr;
  const Instruction* now = nullptr;
  const Instruction* next = nullptr;
  PyObject* keyword_names = nullptr;  // borrowed: set by KW_NAMES for the call behind it
  bool checks = false;                // signals, tracers and requests are looked at before `next`
  uintptr_t stamp = 0;                // of who watches this code
  PyObject* result = nullptr;         // of Return and Yield; owned
  TaedaFrame* callee = nullptr;       // of Enter

  void push(PyObject* value) { *top++ = value; }
  PyObject* pop() { return *--top; }
  Owned take() { return Owned(pop()); }
  PyObject*& peek(int from_top) { return top[-from_top]; }  // 1: the topmost
  int used() const { return static_cast<int>(top - slots); }
  PyObject** stack_base() const { return slots + code->object->co_nlocalsplus; }

  void jump() { next = &code->instructions[now->target]; }
  PyObject* name(int index) const { return PyTuple_GET_ITEM(code->object->co_names, index); }
  PyObject* constant(int index) const { return PyTuple_GET_ITEM(code->object->co_consts, index); }

  // Pushes an owned value; null raises.
  Flow push_or_raise(PyObject* value) {
    if (value == nullptr) return Flow::Raise;
    push(value);
    return Flow::Next;
  }
  // The two words of a callable: a method with its object, or a value without one. Their order on
  // the stack changed in 3.13. Both are owned; `self` may be null.
  void push_callable(PyObject* callable, PyObject* self) {
#if PY_MINOR_VERSION >= 13
    push(callable);
    push(self);
#else
    push(self == nullptr ? nullptr : callable);
    push(self == nullptr ? callable : self);
#endif
  }
};

}  // namespace taeda::dynamo
