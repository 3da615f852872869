// Frames of CPython 3.12: the evaluator clears a frame that ended, a generator's too; recursion in
// Python and in C is counted apart; a `return_offset` says where a caller goes on.
#define Py_BUILD_CORE 1
#include "taeda/dynamo/frames/frames.h"

#if PY_MINOR_VERSION == 12
#include <internal/pycore_ceval.h>
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>

#include "taeda/dynamo/frames/data_stack.h"

// CPython's evaluator takes two units of the C stack.
enum { kCStackUnits = 2 };

PyCodeObject* taeda_frame_code(TaedaFrame* frame) { return frame->f_code; }
PyFunctionObject* taeda_frame_function(TaedaFrame* frame) {
  return (PyFunctionObject*)frame->f_funcobj;
}

static void set_function_and_code(TaedaFrame* frame, PyFunctionObject* function,
                                  PyCodeObject* code) {
  frame->f_funcobj = Py_NewRef(function);
  frame->f_code = (PyCodeObject*)Py_NewRef(code);
}

static void release_function_and_code(TaedaFrame* frame) {
  Py_DECREF(frame->f_funcobj);
  Py_DECREF(frame->f_code);
}

#include "taeda/dynamo/frames/frames_before_313.inc"
#include "taeda/dynamo/frames/frames_shared.inc"
#include "taeda/dynamo/frames/frames_since_312.inc"

_Static_assert(sizeof(_PyCFrame) <= sizeof(TaedaLink), "a link holds a C frame");

int taeda_link_begin(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame) {
  thread->c_recursion_remaining -= kCStackUnits - 1;
  if (_Py_EnterRecursiveCallTstate(thread, "")) {
    thread->c_recursion_remaining += kCStackUnits - 1;
    return -1;
  }
  _PyCFrame* own = (_PyCFrame*)link;
  own->previous = thread->cframe;
  frame->previous = thread->cframe->current_frame;
  own->current_frame = frame;
  thread->cframe = own;
  return 0;
}

void taeda_link_end(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame) {
  (void)frame;
  thread->cframe = ((_PyCFrame*)link)->previous;
  thread->c_recursion_remaining += kCStackUnits;
}

void taeda_frame_pop(PyThreadState* thread, TaedaFrame* frame) {
  clear_frame(thread, frame);
  taeda_data_stack_pop(thread, (PyObject**)frame);
}

static void finish_generator(PyThreadState* thread, TaedaFrame* frame) {
  PyGenObject* generator = _PyFrame_GetGenerator(frame);
  generator->gi_frame_state = FRAME_CLEARED;
  thread->exc_info = generator->gi_exc_state.previous_item;
  generator->gi_exc_state.previous_item = NULL;
  Py_INCREF(frame->f_code);  // the generator releases the code itself
  clear_frame(thread, frame);
  Py_CLEAR(generator->gi_exc_state.exc_value);
  frame->previous = NULL;
}

void taeda_frame_finish(PyThreadState* thread, TaedaFrame* frame) {
  if (frame->owner == FRAME_OWNED_BY_GENERATOR) {
    finish_generator(thread, frame);
  } else {
    taeda_frame_pop(thread, frame);
  }
}

void taeda_frame_suspend(PyThreadState* thread, TaedaFrame* frame, int unit, int argument) {
  (void)argument;
  PyGenObject* generator = _PyFrame_GetGenerator(frame);
  taeda_frame_set_at(frame, unit);
  generator->gi_frame_state = FRAME_SUSPENDED;
  thread->exc_info = generator->gi_exc_state.previous_item;
  generator->gi_exc_state.previous_item = NULL;
  frame->previous = NULL;
}

PyObject* taeda_frame_resume(PyThreadState* thread, TaedaFrame* frame, int pushed) {
  (void)pushed;  // CPython's evaluator pops it
  return _PyEval_EvalFrameDefault(thread, frame, 0);
}

// An empty function: see run_collection.
static PyFunctionObject* pause_function = NULL;

int taeda_frames_begin(void) {
  PyObject* scope = PyDict_New();
  if (scope == NULL) return -1;
  PyObject* made = PyRun_String("def pause(): pass", Py_file_input, scope, scope);
  pause_function = (PyFunctionObject*)Py_XNewRef(PyDict_GetItemString(scope, "pause"));
  Py_XDECREF(made);
  Py_DECREF(scope);
  return pause_function == NULL ? -1 : 0;
}

// A collection is only scheduled in 3.12 and runs at a check of CPython's evaluator; a frame of an
// empty function has one.
static int run_collection(PyThreadState* thread) {
  PyCodeObject* code = (PyCodeObject*)pause_function->func_code;
  TaedaFrame* frame = taeda_frame_push(thread, pause_function, code, NULL, NULL);
  if (frame == NULL) return -1;
  PyObject* result = taeda_frame_resume(thread, frame, 1);
  Py_XDECREF(result);
  return result == NULL ? -1 : 0;
}

uintptr_t taeda_observation_stamp(PyThreadState* thread, PyCodeObject* code) {
  return (uintptr_t)thread->interp->monitoring_version * 2 + is_watched_alone(code);
}

int taeda_handle_pending(PyThreadState* thread) {
  struct _ceval_state* state = &thread->interp->ceval;
  if (Py_MakePendingCalls() < 0) return -1;
  if (_Py_atomic_load_relaxed(&state->gil_drop_request)) PyEval_RestoreThread(PyEval_SaveThread());
  if (_Py_atomic_load_relaxed(&state->gc_scheduled) && run_collection(thread) < 0) return -1;
  return raise_asynchronous(thread);
}

#endif
