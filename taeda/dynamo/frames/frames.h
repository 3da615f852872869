// The seam to CPython's interpreter frames: what the versions do differently, behind one set of
// functions. One source per version implements it (frames_311.c, frames_312.c, frames_313.c); all
// of it runs with the interpreter lock held, on the thread whose state is passed.
//
// A frame's *slots* are its locals, cells and free variables, followed by its value stack. A *unit*
// is the index of a 2-byte code unit. While the evaluator runs a frame, the frame is linked as the
// thread's current one and the number of slots in use lives in the evaluator (the frame shows
// none, as under CPython, so that the garbage collector does not look at a moving stack).
#pragma once

#include <Python.h>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#  error "Taeda's frames know CPython 3.11, 3.12 and 3.13; see docs/frames.md for porting them."
#endif

#ifdef Py_GIL_DISABLED
#  error "Taeda's frames need the interpreter lock; free-threaded CPython is not ported."
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct _PyInterpreterFrame TaedaFrame;

// What a frame consists of. References are borrowed.
PyCodeObject* taeda_frame_code(TaedaFrame* frame);
PyFunctionObject* taeda_frame_function(TaedaFrame* frame);
PyObject* taeda_frame_globals(TaedaFrame* frame);
PyObject* taeda_frame_builtins(TaedaFrame* frame);
// The mapping of names in modules and class bodies; null in functions.
PyObject* taeda_frame_namespace(TaedaFrame* frame);
PyObject** taeda_frame_slots(TaedaFrame* frame);
// Whether somebody holds the frame object: then the frame's memory must stay where it is.
int taeda_frame_is_exposed(TaedaFrame* frame);
int taeda_frame_is_generator(TaedaFrame* frame);
// The generator of a frame that is one's; borrowed.
PyObject* taeda_frame_generator(TaedaFrame* frame);
// The frame of a generator that waits at a `yield`, outside of handlers of exceptions; null for
// others.
TaedaFrame* taeda_generator_waiting(PyObject* generator);
// Makes a generator that did not begin wait behind a `yield`, before unit `next`, with these slots,
// whose references it takes over.
void taeda_generator_wait(PyObject* generator, PyObject** slots, int used, int next);
// Whether the frame has begun: tracebacks and sys._getframe skip one that still makes its cells.
int taeda_frame_is_complete(TaedaFrame* frame);

// The number of slots in use: `take` reads it and marks the frame as running, `save` writes it
// (before a frame calls another, is suspended or is handed back), `used` reads it of one that does
// not run.
int taeda_frame_take(TaedaFrame* frame);
int taeda_frame_used(TaedaFrame* frame);
void taeda_frame_save(TaedaFrame* frame, int used);

// The instruction that runs (tracebacks, f_lineno and f_lasti read it).
int taeda_frame_at(TaedaFrame* frame);
void taeda_frame_set_at(TaedaFrame* frame, int unit);
// The unit that is executed next when the frame is entered or resumed.
int taeda_frame_next(TaedaFrame* frame);
void taeda_frame_set_next(TaedaFrame* frame, int unit);
// The unit whose exception handler is asked when an exception is thrown into the frame.
int taeda_frame_thrown_at(TaedaFrame* frame);

// Links frames as the thread's current one. A link lives on the C stack of its evaluator; links
// nest. `begin` fails with RecursionError where CPython's evaluator would.
typedef struct TaedaLink {
  void* words[3];
} TaedaLink;
int taeda_link_begin(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame);
void taeda_link_set(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame);
void taeda_link_end(PyThreadState* thread, TaedaLink* link, TaedaFrame* frame);
TaedaFrame* taeda_frame_previous(TaedaFrame* frame);
// Counts a frame against the recursion limit; 0, or -1 with RecursionError.
int taeda_recursion_enter(PyThreadState* thread);
void taeda_recursion_leave(PyThreadState* thread);
// Counts a frame that was there before, whatever the limit is now.
void taeda_recursion_restore(PyThreadState* thread);
// Frames above the recursion limit that the thread may have; a negative count takes them back.
void taeda_recursion_lend(PyThreadState* thread, int count);

// A frame of its own for a call of `function`, on the thread's data stack, with empty locals,
// linked above `previous`; null with MemoryError. `code` is the function's code at the call, and
// `names` the mapping of names, null for functions.
TaedaFrame* taeda_frame_push(PyThreadState* thread, PyFunctionObject* function, PyCodeObject* code,
                             PyObject* names, TaedaFrame* previous);
// Ends a frame that `push` made: clears it (a frame object that outlives it takes its values over)
// and gives its memory back. The frame must be unlinked and be the topmost one.
void taeda_frame_pop(PyThreadState* thread, TaedaFrame* frame);
// Ends a frame that CPython made and handed to the hook: clears it in the versions where that is
// the evaluator's duty.
void taeda_frame_finish(PyThreadState* thread, TaedaFrame* frame);
// Suspends a generator's frame at its YIELD_VALUE.
void taeda_frame_suspend(PyThreadState* thread, TaedaFrame* frame, int unit, int argument);

// Gives an unlinked frame back to CPython, which goes on at `next`. `pushed` says that the frame
// came from `push`; it is gone afterwards either way.
PyObject* taeda_frame_resume(PyThreadState* thread, TaedaFrame* frame, int pushed);

// Whether a tracer, a profiler, a debugger or a monitor watches this code: stay out. The stamp
// changes whenever somebody begins or ends to watch everything or this code.
int taeda_is_observed(PyThreadState* thread, PyCodeObject* code);
uintptr_t taeda_observation_stamp(PyThreadState* thread, PyCodeObject* code);
// Whether signals, pending calls, lock requests, asynchronous exceptions or a collection wait, and
// the handling of them; 0, or -1 with an exception.
int taeda_has_pending(PyThreadState* thread);
int taeda_handle_pending(PyThreadState* thread);

// The frame object of the thread's current frame, made where there is none yet; borrowed. Null
// without memory for it; the exception that is being raised stays as it is.
PyFrameObject* taeda_current_frame_object(void);
// The exception that is being raised, normalized, with its traceback; a new reference.
PyObject* taeda_take_raised(void);
// Raises `exception` as it is, without context; steals the reference.
void taeda_set_raised(PyObject* exception);

// Makes what the functions above need; once, before anything is evaluated. 0, or -1 with an
// exception.
int taeda_frames_begin(void);

// The hook of PEP 523: CPython's evaluator, and the pointer that replaces it.
typedef PyObject* (*TaedaEvaluate)(PyThreadState*, TaedaFrame*, int);
void taeda_set_hook(TaedaEvaluate hook);  // null: CPython's own
TaedaEvaluate taeda_get_hook(void);
int taeda_has_hook(void);
PyObject* taeda_evaluate_natively(PyThreadState* thread, TaedaFrame* frame, int is_throwing);

// One slot per code object for the evaluator's decoded form.
Py_ssize_t taeda_code_extra_index(freefunc release);
void* taeda_code_extra(PyCodeObject* code, Py_ssize_t index);
int taeda_set_code_extra(PyCodeObject* code, Py_ssize_t index, void* extra);

#ifdef __cplusplus
}
#endif
