// Frames of CPython 3.13: the thread state itself holds the current frame, `instr_ptr` is the
// instruction that runs or comes next, and clearing a frame is exported.
#define Py_BUILD_CORE 1
#include "taeda/dynamo/frames/frames.h"

#if PY_MINOR_VERSION == 13
#include <internal/pycore_ceval.h>
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>

#include "taeda/dynamo/frames/data_stack.h"

// CPython's evaluator takes two units of the C stack.
enum { kCStackUnits = 2 };

PyCodeObject* taeda_frame_code(TaedaFrame* frame) { return (PyCodeObject*)frame->f_executable; }
PyFunctionObject* taeda_frame_function(TaedaFrame* frame) {
  return (PyFunctionObject*)frame->f_funcobj;
}

static void set_function_and_code(TaedaFrame* frame, PyFunctionObject* function,
                                  PyCodeObject* code) {
  frame->f_funcobj = Py_NewRef(function);
  frame->f_executable = Py_NewRef(code);
}

int taeda_frame_at(TaedaFrame* frame) {
  return (int)(frame->instr_ptr - _PyCode_CODE(taeda_frame_code(frame)));
}
void taeda_frame_set_at(TaedaFrame* frame, int unit) {
  frame->instr_ptr = _PyCode_CODE(taeda_frame_code(frame)) + unit;
}
int taeda_frame_next(TaedaFrame* frame) { return taeda_frame_at(frame); }
void taeda_frame_set_next(TaedaFrame* frame, int unit) { taeda_frame_set_at(frame, unit); }
int taeda_frame_thrown_at(TaedaFrame* frame) { return taeda_frame_at(frame) - 1; }

#include "taeda/dynamo/frames/frames_shared.inc"
#include "taeda/dynamo/frames/frames_since_312.inc"

int taeda_link_begin(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame) {
  thread->c_recursion_remaining -= kCStackUnits - 1;
  if (_Py_EnterRecursiveCallTstate(thread, "")) {
    thread->c_recursion_remaining += kCStackUnits - 1;
    return -1;
  }
  link->words[0] = thread->current_frame;
  frame->previous = thread->current_frame;
  thread->current_frame = frame;
  return 0;
}

void taeda_link_set(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame) {
  (void)link;
  thread->current_frame = frame;
}

void taeda_link_end(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame) {
  (void)frame;
  thread->current_frame = link->words[0];
  thread->c_recursion_remaining += kCStackUnits;
}

void taeda_frame_pop(PyThreadState* thread, TaedaFrame* frame) {
  _PyEval_FrameClearAndPop(thread, frame);
}

void taeda_frame_finish(PyThreadState* thread, TaedaFrame* frame) {
  _PyEval_FrameClearAndPop(thread, frame);
}

// The argument of YIELD_VALUE tells whether it is part of `yield from`.
static int state_behind_yield(TaedaFrame* frame, int next) {
  return FRAME_SUSPENDED + _PyCode_CODE(taeda_frame_code(frame))[next - 1].op.arg;
}

void taeda_frame_suspend(PyThreadState* thread, TaedaFrame* frame, int unit, int argument) {
  PyGenObject* generator = _PyFrame_GetGenerator(frame);
  taeda_frame_set_next(frame, unit + 1);
  generator->gi_frame_state = FRAME_SUSPENDED + argument;
  thread->exc_info = generator->gi_exc_state.previous_item;
  generator->gi_exc_state.previous_item = NULL;
  frame->previous = NULL;
}

PyObject* taeda_frame_resume(PyThreadState* thread, TaedaFrame* frame, int pushed) {
  (void)pushed;  // CPython's evaluator pops it
  return _PyEval_EvalFrameDefault(thread, frame, 0);
}

int taeda_has_pending(PyThreadState* thread) {
  return (_Py_atomic_load_uintptr_relaxed(&thread->eval_breaker) & _PY_EVAL_EVENTS_MASK) != 0;
}
int taeda_handle_pending(PyThreadState* thread) { return _Py_HandlePending(thread); }

uintptr_t taeda_observation_stamp(PyThreadState* thread, PyCodeObject* code) {
  const uintptr_t word = _Py_atomic_load_uintptr_relaxed(&thread->eval_breaker);
  return (word & ~_PY_EVAL_EVENTS_MASK) + is_watched_alone(code);
}

int taeda_frames_begin(void) { return 0; }

#endif
