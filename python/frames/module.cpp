// taeda._frames: the plain evaluator for Python programs and its proof. A module of its own: it
// needs nothing of the library, so that it can be built and tried on every CPython by itself.
#include <Python.h>
#include <structmember.h>

#include <memory>
#include <optional>
#include <string>

#include "taeda/dynamo/evaluator/code.h"
#include "taeda/dynamo/evaluator/session.h"
#include "taeda/dynamo/evaluator/state.h"
#include "taeda/dynamo/frames/frames.h"

namespace {

using namespace taeda::dynamo;

struct SessionObject {
  PyObject_HEAD;
  std::shared_ptr<Session>* session;
  std::vector<std::unique_ptr<SessionScope>>* scopes;  // one per `with` that is open
};

SessionObject* as_session(PyObject* object) { return reinterpret_cast<SessionObject*>(object); }

PyCodeObject* as_code(SessionObject* self, PyObject* object) {
  if (!PyCode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "Session: expected a code object, got %.200s",
                 Py_TYPE(object)->tp_name);
    return nullptr;
  }
  (*self->session)->codes.emplace_back(Py_NewRef(object));
  return reinterpret_cast<PyCodeObject*>(object);
}

// A place is (code, offset), the offset in bytes as in `dis`.
bool read_place(SessionObject* self, PyObject* object, PyCodeObject** code, int* unit) {
  PyObject* given = nullptr;
  int offset = 0;
  if (!PyTuple_Check(object)) {
    PyErr_Format(PyExc_TypeError, "Session: a place is (code, offset), got %.200s",
                 Py_TYPE(object)->tp_name);
    return false;
  }
  if (!PyArg_ParseTuple(object, "Oi;a place is (code, offset)", &given, &offset)) return false;
  *code = as_code(self, given);
  if (*code == nullptr) return false;
  const Code* plain = decoded(*code);
  if (plain == nullptr) return false;
  const int count = static_cast<int>(plain->index_of_unit.size()) - 1;
  if (offset < 0 || offset % 2 != 0 || offset / 2 >= count ||
      plain->index_of_unit[offset / 2] < 0) {
    PyErr_Format(PyExc_ValueError, "Session: no instruction of %R begins at offset %d", given,
                 offset);
    return false;
  }
  *unit = plain->at(offset / 2)->unit;
  return true;
}

template <class Visit>
bool for_each(PyObject* iterable, Visit visit) {
  Owned iterator(PyObject_GetIter(iterable));
  if (!iterator) return false;
  while (PyObject* item = PyIter_Next(iterator.get())) {
    Owned held(item);
    if (!visit(item)) return false;
  }
  return !PyErr_Occurred();
}

void session_dealloc(PyObject* object) {
  SessionObject* self = as_session(object);
  delete self->scopes;
  delete self->session;
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* session_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"places",  "one_in",  "seed",    "callers", "rebuild",
                                "segment", "failure", "skipped", nullptr};
  PyObject *places = nullptr, *segment = nullptr, *failure = nullptr, *skipped = nullptr;
  long long one_in = 0;
  unsigned long long seed = 1;
  int callers = 0, rebuild = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OLKppOOO", const_cast<char**>(names),
                                   &places, &one_in, &seed, &callers, &rebuild, &segment, &failure,
                                   &skipped)) {
    return nullptr;
  }
  if (one_in < 0 || one_in > UINT32_MAX) {
    PyErr_Format(PyExc_ValueError, "Session: one_in must lie between 0 and %u, got %lld",
                 UINT32_MAX, one_in);
    return nullptr;
  }
  Owned object(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  SessionObject* self = as_session(object.get());
  self->session = new std::shared_ptr<Session>(std::make_shared<Session>());
  self->scopes = new std::vector<std::unique_ptr<SessionScope>>;
  Session& session = **self->session;
  session.one_in = static_cast<uint32_t>(one_in);
  session.random = seed * 2 + 1;
  session.hands_back_callers = callers;
  session.rebuilds = rebuild;
  const bool read =
      (places == nullptr || places == Py_None ||
       for_each(places,
                [&](PyObject* place) {
                  PyCodeObject* code = nullptr;
                  int unit = 0;
                  if (!read_place(self, place, &code, &unit)) return false;
                  session.places[code].insert(unit);
                  return true;
                })) &&
      (segment == nullptr || segment == Py_None ||
       read_place(self, segment, &session.segment_code, &session.segment_unit)) &&
      (failure == nullptr || failure == Py_None ||
       read_place(self, failure, &session.failure_code, &session.failure_unit)) &&
      (skipped == nullptr || skipped == Py_None || for_each(skipped, [&](PyObject* code) {
         PyCodeObject* read = as_code(self, code);
         if (read != nullptr) session.skipped.insert(read);
         return read != nullptr;
       }));
  return read ? object.release() : nullptr;
}

PyObject* session_enter(PyObject* object, PyObject*) {
  SessionObject* self = as_session(object);
  self->scopes->push_back(std::make_unique<SessionScope>(*self->session));
  return Py_NewRef(object);
}

PyObject* session_exit(PyObject* object, PyObject*) {
  SessionObject* self = as_session(object);
  if (self->scopes->empty()) {
    PyErr_SetString(PyExc_RuntimeError, "Session: left more often than entered");
    return nullptr;
  }
  self->scopes->pop_back();
  Py_RETURN_NONE;
}

PyObject* session_run(PyObject* object, PyObject* arguments, PyObject* keywords) {
  const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  if (count == 0) {
    PyErr_SetString(PyExc_TypeError, "Session.run: expected a callable and its arguments");
    return nullptr;
  }
  Owned rest(PyTuple_GetSlice(arguments, 1, count));
  if (!rest) return nullptr;
  SessionScope scope(*as_session(object)->session);
  return PyObject_Call(PyTuple_GET_ITEM(arguments, 0), rest.get(), keywords);
}

PyObject* session_counts(PyObject* object, void*) {
  const Counts& counts = (*as_session(object)->session)->counts;
  return Py_BuildValue("{sLsLsLsLsLsL}", "instructions", counts.instructions, "frames",
                       counts.frames, "entered", counts.entered, "hand_backs", counts.hand_backs,
                       "rebuilt", counts.rebuilt, "rollbacks", counts.rollbacks);
}

PyMethodDef session_methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(session_run)),
     METH_VARARGS | METH_KEYWORDS,
     "run(function, /, *args, **kwargs)\n--\n\nCalls a function under the evaluator."},
    {"__enter__", session_enter, METH_NOARGS, nullptr},
    {"__exit__", session_exit, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef session_getters[] = {
    {"counts", session_counts, nullptr,
     "Instructions run, frames taken and entered, hand-backs, frames rebuilt, rollbacks.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot session_slots[] = {
    {Py_tp_doc,
     const_cast<char*>(
         "Session(*, places=None, one_in=0, seed=1, callers=False, rebuild=False, segment=None, "
         "failure=None, skipped=None)\n--\n\n"
         "Evaluation of Python frames on this thread, in `run` or inside of a `with`.\n\n"
         "places: pairs (code, offset) at which frames are handed back to CPython.\n"
         "one_in, seed: hand-backs by chance, at one of so many instructions.\n"
         "callers: a hand-back takes the calling frames, too.\n"
         "rebuild: frames of calls are made anew from their images before a hand-back.\n"
         "segment, failure: a segment begins at the one place and fails at the other; its frames\n"
         "are rolled back and run by CPython.\n"
         "skipped: code objects that are left to CPython.")},
    {Py_tp_new, reinterpret_cast<void*>(session_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(session_dealloc)},
    {Py_tp_methods, session_methods},
    {Py_tp_getset, session_getters},
    {0, nullptr}};

PyType_Spec session_spec = {"taeda._frames.Session", sizeof(SessionObject), 0, Py_TPFLAGS_DEFAULT,
                            session_slots};

PyObject* list_opcodes(PyObject*, PyObject*) {
  Owned table(PyDict_New());
  for (const Opcode& opcode : opcodes()) {
    if (opcode.name.empty()) continue;
    Owned name(PyUnicode_FromStringAndSize(opcode.name.data(), opcode.name.size()));
    Owned how(PyUnicode_FromString(opcode.handler == nullptr ? "hands back" : "runs"));
    if (!name || !how || PyDict_SetItem(table.get(), name.get(), how.get()) < 0) return nullptr;
  }
  return table.release();
}

PyObject* list_offsets(PyObject*, PyObject* object) {
  if (!PyCode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "offsets: expected a code object, got %.200s",
                 Py_TYPE(object)->tp_name);
    return nullptr;
  }
  const Code* code = decoded(reinterpret_cast<PyCodeObject*>(object));
  Owned offsets(code == nullptr ? nullptr : PyList_New(0));
  if (!offsets) return nullptr;
  for (const Instruction& instruction : code->instructions) {
    Owned offset(PyLong_FromLong(2L * instruction.unit));
    if (!offset || PyList_Append(offsets.get(), offset.get()) < 0) return nullptr;
  }
  return offsets.release();
}

PyObject* is_hooked(PyObject*, PyObject*) { return PyBool_FromLong(taeda_has_hook()); }

PyObject* only_natively(PyThreadState* thread, TaedaFrame* frame, int is_throwing) {
  return taeda_evaluate_natively(thread, frame, is_throwing);
}

// For the benchmark: the hook that does nothing but call CPython's evaluator.
PyObject* set_empty_hook(PyObject*, PyObject* flag) {
  taeda_set_hook(flag == Py_True ? only_natively : nullptr);
  Py_RETURN_NONE;
}

// For the benchmark: the evaluator's hook, installed, with nothing to do on this thread.
PyObject* set_idle_hook(PyObject*, PyObject* flag) {
  static std::optional<SessionScope> scope;
  scope.reset();
  if (flag == Py_True) scope.emplace(nullptr);
  Py_RETURN_NONE;
}

PyMethodDef module_methods[] = {
    {"opcodes", list_opcodes, METH_NOARGS,
     "opcodes()\n--\n\nThe instructions of this CPython: which run, which hand a frame back."},
    {"offsets", list_offsets, METH_O,
     "offsets(code, /)\n--\n\nThe offsets of a code object's instructions."},
    {"_is_hooked", is_hooked, METH_NOARGS, "_is_hooked()\n--\n\nWhether any hook is installed."},
    {"_set_empty_hook", set_empty_hook, METH_O, nullptr},
    {"_set_idle_hook", set_idle_hook, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyObject* after_fork(PyObject*, PyObject*) {
  forget_other_threads();
  Py_RETURN_NONE;
}

PyMethodDef after_fork_method = {"_after_fork", after_fork, METH_NOARGS, nullptr};

bool watch_forks() {
  Owned os(PyImport_ImportModule("os"));
  Owned function(PyCFunction_New(&after_fork_method, nullptr));
  Owned method(os ? PyObject_GetAttrString(os.get(), "register_at_fork") : nullptr);
  Owned nothing(PyTuple_New(0));
  Owned names(PyDict_New());
  if (!function || !method || !nothing || !names) return false;
  if (PyDict_SetItemString(names.get(), "after_in_child", function.get()) < 0) return false;
  return static_cast<bool>(Owned(PyObject_Call(method.get(), nothing.get(), names.get())));
}

int fill_module(PyObject* module) {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "taeda._frames: frames of subinterpreters are left to CPython");
    return -1;
  }
  if (taeda_frames_begin() < 0 || !watch_forks()) return -1;
  Owned type(PyType_FromSpec(&session_spec));
  return type ? PyModule_AddObjectRef(module, "Session", type.get()) : -1;
}

PyModuleDef_Slot module_slots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill_module)},
                                   {0, nullptr}};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                 "taeda._frames",
                                 "Frames of CPython, taken and handed back (docs/frames.md).",
                                 0,
                                 module_methods,
                                 module_slots,
                                 nullptr,
                                 nullptr,
                                 nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__frames() { return PyModuleDef_Init(&module_definition); }
