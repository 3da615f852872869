// Frames of CPython 3.11: the caller clears a frame that ended, a C frame per evaluator holds the
// current frame and the tracing flag, and `prev_instr` is the unit before the next instruction.
#define Py_BUILD_CORE 1
#include "taeda/dynamo/frames/frames.h"

#if PY_MINOR_VERSION == 11
#include <internal/pycore_ceval.h>
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>

#include "taeda/dynamo/frames/data_stack.h"

PyCodeObject* taeda_frame_code(TaedaFrame* frame) { return frame->f_code; }
PyFunctionObject* taeda_frame_function(TaedaFrame* frame) { return frame->f_func; }

static void set_function_and_code(TaedaFrame* frame, PyFunctionObject* function,
                                  PyCodeObject* code) {
  frame->f_func = (PyFunctionObject*)Py_NewRef(function);
  frame->f_code = (PyCodeObject*)Py_NewRef(code);
  frame->is_entry = true;
}

static void release_function_and_code(TaedaFrame* frame) {
  Py_DECREF(frame->f_func);
  Py_DECREF(frame->f_code);
}

#include "taeda/dynamo/frames/frames_before_313.inc"
#include "taeda/dynamo/frames/frames_shared.inc"

static size_t frame_words(PyCodeObject* code) {
  return code->co_nlocalsplus + code->co_stacksize + FRAME_SPECIALS_SIZE;
}

static void set_return_offset(TaedaFrame* frame) { (void)frame; }

int taeda_recursion_enter(PyThreadState* thread) {
  return _Py_EnterRecursiveCallTstate(thread, "") ? -1 : 0;
}
void taeda_recursion_leave(PyThreadState* thread) { _Py_LeaveRecursiveCallTstate(thread); }
void taeda_recursion_restore(PyThreadState* thread) { thread->recursion_remaining--; }
void taeda_recursion_lend(PyThreadState* thread, int count) {
  thread->recursion_remaining += count;
}

_Static_assert(sizeof(_PyCFrame) <= sizeof(TaedaLink), "a link holds a C frame");

int taeda_link_begin(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame) {
  _PyCFrame* own = (_PyCFrame*)link;
  own->use_tracing = thread->cframe->use_tracing;
  own->previous = thread->cframe;
  frame->previous = thread->cframe->current_frame;
  frame->is_entry = true;
  own->current_frame = frame;
  thread->cframe = own;
  return 0;
}

void taeda_link_end(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame) {
  (void)frame;
  _PyCFrame* own = (_PyCFrame*)link;
  thread->cframe = own->previous;
  thread->cframe->use_tracing = own->use_tracing;
}

void taeda_frame_pop(PyThreadState* thread, TaedaFrame* frame) {
  clear_frame(thread, frame);
  taeda_data_stack_pop(thread, (PyObject**)frame);
}

void taeda_frame_finish(PyThreadState* thread, TaedaFrame* frame) {
  (void)thread;
  (void)frame;  // its caller clears it
}

void taeda_frame_suspend(PyThreadState* thread, TaedaFrame* frame, int unit, int argument) {
  (void)thread;
  (void)argument;
  taeda_frame_set_at(frame, unit);
  _PyFrame_GetGenerator(frame)->gi_frame_state = FRAME_SUSPENDED;
}

PyObject* taeda_frame_resume(PyThreadState* thread, TaedaFrame* frame, int pushed) {
  PyObject* result = _PyEval_EvalFrameDefault(thread, frame, 0);
  if (pushed) taeda_frame_pop(thread, frame);
  return result;
}

int taeda_is_observed(PyThreadState* thread, PyCodeObject* code) {
  (void)code;
  return thread->cframe->use_tracing != 0;
}

int taeda_handle_pending(PyThreadState* thread) {
  struct _ceval_state* state = &thread->interp->ceval;
  if (Py_MakePendingCalls() < 0) return -1;
  if (_Py_atomic_load_relaxed(&state->gil_drop_request)) PyEval_RestoreThread(PyEval_SaveThread());
  return raise_asynchronous(thread);
}

uintptr_t taeda_observation_stamp(PyThreadState* thread, PyCodeObject* code) {
  (void)code;
  return thread->cframe->use_tracing;
}

PyFrameObject* taeda_current_frame_object(void) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyFrameObject* object = PyEval_GetFrame();
  PyErr_Restore(type, value, traceback);
  return object;
}

int taeda_frames_begin(void) { return 0; }

PyObject* taeda_take_raised(void) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyException_SetTraceback(value, traceback == NULL ? Py_None : traceback);
  Py_XDECREF(traceback);
  Py_XDECREF(type);
  return value;
}

void taeda_set_raised(PyObject* exception) {
  PyErr_Restore(Py_NewRef(PyExceptionInstance_Class(exception)), exception,
                PyException_GetTraceback(exception));
}

Py_ssize_t taeda_code_extra_index(freefunc release) {
  return _PyEval_RequestCodeExtraIndex(release);
}
void* taeda_code_extra(PyCodeObject* code, Py_ssize_t index) {
  void* extra = NULL;
  _PyCode_GetExtra((PyObject*)code, index, &extra);
  return extra;
}
int taeda_set_code_extra(PyCodeObject* code, Py_ssize_t index, void* extra) {
  return _PyCode_SetExtra((PyObject*)code, index, extra);
}
#endif
