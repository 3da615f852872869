// The stack of function modes, the guards that switch overrides off, and the functions that
// taeda.overrides calls.
#include "python/src/dispatch/function_modes.h"

#include <vector>

#include "python/interop/errors.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/overrides.h"

namespace taeda::python {

int num_function_modes = 0;

namespace {

// Owned references. Not freed at a thread's end, when the interpreter may be gone; `with`
// statements pop what they pushed.
thread_local std::vector<PyObject*> modes;
PyObject* disabled_function = nullptr;

void push(PyObject* stolen) {
  modes.push_back(stolen);
  ++num_function_modes;
}
PyObject* pop() {
  PyObject* mode = modes.back();
  modes.pop_back();
  --num_function_modes;
  return mode;
}

}  // namespace

bool is_function_mode_active() {
  return num_function_modes && !modes.empty() && override_state() != OverrideState::AllDisabled;
}
PyObject* innermost_function_mode() { return modes.back(); }
const std::vector<PyObject*>& function_modes() { return modes; }
void push_function_mode(PyObject* mode) { push(Py_NewRef(mode)); }
void pop_function_mode() { Py_DECREF(pop()); }
PyObject* disabled_hook() { return disabled_function; }

SetAsideFunctionMode::SetAsideFunctionMode() : mode_(pop()) {}
SetAsideFunctionMode::~SetAsideFunctionMode() { push(mode_); }

namespace {

// ---- guards: with DisableTorchFunctionSubclass(): ... ----
struct GuardObject {
  PyObject_HEAD OverrideState previous;
};

template <OverrideState wanted>
PyObject* enter(PyObject* self, PyObject*) {
  reinterpret_cast<GuardObject*>(self)->previous = override_state();
  // If all overrides are off already, they stay off.
  if (wanted == OverrideState::Enabled || override_state() < wanted) set_override_state(wanted);
  Py_RETURN_NONE;
}
PyObject* leave(PyObject* self, PyObject*) {
  set_override_state(reinterpret_cast<GuardObject*>(self)->previous);
  Py_RETURN_NONE;
}

template <OverrideState wanted>
bool add_guard(PyObject* module, const char* name, const char* doc) {
  static PyMethodDef methods[] = {
      {"__enter__", enter<wanted>, METH_NOARGS, nullptr},
      {"__exit__", leave, METH_VARARGS, nullptr},
      {},
  };
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(doc)},
                         {Py_tp_methods, methods},
                         {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
                         {0, nullptr}};
  PyType_Spec spec = {name, sizeof(GuardObject), 0, Py_TPFLAGS_DEFAULT, slots};
  Ref type(PyType_FromSpec(&spec));
  return type && PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) == 0;
}

// ---- functions ----
// _disabled_torch_function_impl(func, types, args, kwargs): the function, with no class asked.
PyObject* run_disabled(PyObject*, PyObject* given) {
  PyObject *func = nullptr, *types = nullptr, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO|OO", &func, &types, &args, &kwargs)) return nullptr;
  Ref tuple(args ? PySequence_Tuple(args) : PyTuple_New(0));
  if (!tuple) return nullptr;
  const OverrideState previous = override_state();
  if (previous == OverrideState::Enabled) set_override_state(OverrideState::SubclassesDisabled);
  PyObject* result = PyObject_Call(func, tuple.get(), kwargs == Py_None ? nullptr : kwargs);
  set_override_state(previous);
  return result;
}

PyObject* push_mode(PyObject*, PyObject* mode) {
  push(Py_NewRef(mode));
  Py_RETURN_NONE;
}
PyObject* pop_mode(PyObject*, PyObject*) {
  return guarded([] {
    TAEDA_CHECK(!modes.empty(), "no function mode to pop: the stack of modes is empty");
    return pop();
  });
}
PyObject* num_modes(PyObject*, PyObject*) { return PyLong_FromSize_t(modes.size()); }
PyObject* mode_at(PyObject*, PyObject* index) {
  return guarded([&] {
    const Py_ssize_t i = PyLong_AsSsize_t(index);
    if (i == -1 && PyErr_Occurred()) throw_python_error();
    TAEDA_CHECK_INDEX(i >= 0 && static_cast<size_t>(i) < modes.size(), "function mode ",
                      static_cast<int64_t>(i), " of ", static_cast<int64_t>(modes.size()));
    return Py_NewRef(modes[static_cast<size_t>(i)]);
  });
}

PyObject* is_enabled(PyObject*, PyObject*) {
  return wrap(override_state() == OverrideState::Enabled);
}
PyObject* is_all_disabled(PyObject*, PyObject*) {
  return wrap(override_state() == OverrideState::AllDisabled);
}
PyObject* is_mode_enabled(PyObject*, PyObject*) { return wrap(is_function_mode_active()); }

PyObject* has_unary(PyObject*, PyObject* o) { return wrap(is_overridden(o)); }
bool any_overrides(PyObject* const* items, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (overrides(items[i])) return true;
  return num_function_modes && is_function_mode_active();
}
PyObject* has_variadic(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return wrap(any_overrides(args, nargs));
}
PyObject* has_any(PyObject*, PyObject* args) {
  Ref items(PySequence_Fast(args, "expected a sequence"));
  if (!items) return nullptr;
  return wrap(
      any_overrides(PySequence_Fast_ITEMS(items.get()), PySequence_Fast_GET_SIZE(items.get())));
}

PyMethodDef functions[] = {
    {"_disabled_torch_function_impl", run_disabled, METH_VARARGS, nullptr},
    {"_push_on_torch_function_stack", push_mode, METH_O, nullptr},
    {"_pop_torch_function_stack", pop_mode, METH_NOARGS, nullptr},
    {"_len_torch_function_stack", num_modes, METH_NOARGS, nullptr},
    {"_get_function_stack_at", mode_at, METH_O, nullptr},
    {"_is_torch_function_enabled", is_enabled, METH_NOARGS, nullptr},
    {"_is_torch_function_all_disabled", is_all_disabled, METH_NOARGS, nullptr},
    {"_is_torch_function_mode_enabled", is_mode_enabled, METH_NOARGS, nullptr},
    {"_has_torch_function", has_any, METH_O, nullptr},
    {"_has_torch_function_unary", has_unary, METH_O,
     "Whether an object or an active mode takes the calls that it is part of."},
    {"_has_torch_function_variadic", as_function(has_variadic), METH_FASTCALL, nullptr},
    {},
};

}  // namespace

bool init_overrides(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) return false;
  disabled_function = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
  return disabled_function &&
         add_guard<OverrideState::SubclassesDisabled>(
             module, "taeda._C.DisableTorchFunctionSubclass",
             "A context in which __torch_function__ of classes is not asked.") &&
         add_guard<OverrideState::AllDisabled>(
             module, "taeda._C.DisableTorchFunction",
             "A context in which neither classes nor function modes are asked.") &&
         add_guard<OverrideState::Enabled>(
             module, "taeda._C._EnableTorchFunction",
             "A context in which classes and function modes are asked again.");
}

}  // namespace taeda::python
