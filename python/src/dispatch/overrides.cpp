// Finds the modes and classes that override a call, and asks them.
#include "python/src/dispatch/overrides.h"

#include <cstring>
#include <string>

#include "python/interop/errors.h"
#include "python/interop/text.h"
#include "python/src/dispatch/function_modes.h"

namespace taeda::python {

namespace {

thread_local OverrideState state = OverrideState::Enabled;

PyObject* hook_name() {
  static PyObject* const name = PyUnicode_InternFromString("__torch_function__");
  return name;
}

// Types that are common as arguments and never override.
bool is_builtin_type(const PyTypeObject* t) {
  return t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type || t == &PyTuple_Type ||
         t == &PyList_Type || t == &PyUnicode_Type || t == &PySlice_Type || t == &PyComplex_Type ||
         t == Py_TYPE(Py_None) || t == Py_TYPE(Py_Ellipsis);
}

}  // namespace

OverrideState override_state() { return state; }
void set_override_state(OverrideState wanted) { state = wanted; }

bool class_overrides(PyObject* o) {
  if (is_builtin_type(Py_TYPE(o))) return false;
  const PyObject* hook = _PyType_Lookup(Py_TYPE(o), hook_name());
  return hook && hook != disabled_hook() && state == OverrideState::Enabled;
}

bool has_default_function_hook(PyTypeObject* type) {
  return _PyType_Lookup(type, hook_name()) == _PyType_Lookup(tensor_type, hook_name());
}

bool is_overridden(PyObject* a, PyObject* b) {
  return overrides(a) || overrides(b) || (num_function_modes && is_function_mode_active());
}

void Overloaded::add(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  size_t at = items_.size();
  for (size_t i = items_.size(); i-- > 0;) {
    if (Py_TYPE(items_[i]) == type) return;
    if (PyType_IsSubtype(type, Py_TYPE(items_[i]))) at = i;
  }
  items_.push_back(o);
  for (size_t i = items_.size() - 1; i > at; --i) std::swap(items_[i], items_[i - 1]);
}

void Overloaded::add_items(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return add_if_overrides(o);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    add_if_overrides(PySequence_Fast_GET_ITEM(o, i));
}

Ref types_of(const Overloaded& overloaded) {
  Ref types(PyTuple_New(static_cast<Py_ssize_t>(overloaded.size())));
  for (size_t i = 0; types && i < overloaded.size(); ++i)
    PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(overloaded[i]))));
  return types;
}

namespace {

// PyTorch asks for a class method; a method of the instance works, with a warning.
bool warn_if_bound_to(PyObject* hook, PyObject* o) {
  if (!PyMethod_Check(hook) || PyMethod_GET_SELF(hook) != o) return true;
  return PyErr_WarnEx(PyExc_UserWarning,
                      "Defining your `__torch_function__` as a plain method is deprecated and will "
                      "be an error in future, please define it as a classmethod.",
                      1) == 0;
}

PyObject* call_hook(PyObject* hook, PyObject* func, PyObject* types, PyObject* args,
                    PyObject* kwargs) {
  PyObject* const argv[] = {func, types, args, kwargs};
  return PyObject_Vectorcall(hook, argv, kwargs ? 4 : 3, nullptr);
}

// The mode is off the stack while it answers, so that its own calls reach the mode below.
PyObject* ask_mode(PyObject* func, PyObject* types, PyObject* args, PyObject* kwargs) {
  const SetAsideFunctionMode mode;
  Ref hook(PyObject_GetAttr(mode.get(), hook_name()));
  return hook ? call_hook(hook.get(), func, types, args, kwargs) : nullptr;
}

PyObject* ask_class(PyObject* o, PyObject* func, PyObject* types, PyObject* args,
                    PyObject* kwargs) {
  Ref hook(PyObject_GetAttr(o, hook_name()));
  if (!hook || !warn_if_bound_to(hook.get(), o)) return nullptr;
  return call_hook(hook.get(), func, types, args, kwargs);
}

Ref function_of(const Callee& callee) {
  Ref func(PyObject_GetAttrString(callee.owner, callee.name));
  if (!func || !callee.accessor) return func;
  return Ref(PyObject_GetAttrString(func.get(), callee.accessor));
}

// "torch.add", "torch.nn.gelu", "torch.Tensor.add", "torch.Tensor.grad.__get__"
std::string shown_name(const Callee& callee) {
  std::string text = "torch.";
  if (!PyModule_Check(callee.owner)) {
    text += "Tensor.";
  } else if (const char* module = PyModule_GetName(callee.owner)) {
    const char* last = std::strrchr(module, '.');
    if (last && last[1] == '_' && std::strcmp(last, "._C") != 0) text += str(last + 2, ".");
  }
  text += callee.name;
  return callee.accessor ? str(text, ".", callee.accessor) : text;
}

std::string shown(PyObject* o) {
  Ref text(checked(PyObject_Repr(o)));
  const char* utf8 = PyUnicode_AsUTF8(text.get());
  return utf8 ? utf8 : "?";
}

void set_declined_error(const std::string& name, const Overloaded& overloaded) {
  std::string message = str("Multiple dispatch failed for '", name,
                            "'; all __torch_function__ handlers returned NotImplemented:\n\n");
  if (is_function_mode_active())
    message += str("  - mode object ", shown(innermost_function_mode()), "\n");
  for (size_t i = 0; i < overloaded.size(); ++i)
    message += str("  - tensor subclass ",
                   shown(reinterpret_cast<PyObject*>(Py_TYPE(overloaded[i]))), "\n");
  message += "\nFor more information, try re-running with TORCH_LOGS=not_implemented";
  PyErr_SetString(PyExc_TypeError, message.c_str());
}

// Asks the innermost mode, then the classes in turn.
PyObject* ask_all(PyObject* func, const Overloaded& overloaded, PyObject* args, PyObject* kwargs) {
  const Ref types = types_of(overloaded);
  if (!types) return nullptr;
  Ref answer = Ref::share(Py_NotImplemented);
  if (is_function_mode_active()) answer = Ref(ask_mode(func, types.get(), args, kwargs));
  for (size_t i = 0; answer.get() == Py_NotImplemented && i < overloaded.size(); ++i)
    answer = Ref(ask_class(overloaded[i], func, types.get(), args, kwargs));
  return answer.release();
}

}  // namespace

PyObject* ask_overrides(const Callee& callee, const Overloaded& overloaded, PyObject* args,
                        PyObject* kwargs) {
  const Ref func = function_of(callee);
  return func ? ask_all(func.get(), overloaded, args, kwargs) : nullptr;
}

PyObject* call_override(const Callee& callee, const Overloaded& overloaded, PyObject* args,
                        PyObject* kwargs) {
  PyObject* answer = ask_overrides(callee, overloaded, args, kwargs);
  if (answer != Py_NotImplemented) return answer;
  Py_DECREF(answer);
  return guarded([&]() -> PyObject* {
    set_declined_error(shown_name(callee), overloaded);
    return nullptr;
  });
}

PyObject* call_operator_override(PyObject* function, const Overloaded& overloaded, PyObject* args,
                                 PyObject* kwargs) {
  PyObject* answer = ask_all(function, overloaded, args, kwargs);
  if (answer != Py_NotImplemented) return answer;
  Py_DECREF(answer);
  return guarded([&]() -> PyObject* {
    const Ref name(checked(PyObject_Str(function)));
    set_declined_error(str("torch.ops.", text_of(name.get())), overloaded);
    return nullptr;
  });
}

bool pack_call(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames,
               Ref& args, Ref& kwargs) {
  const Py_ssize_t first = self ? 1 : 0;
  args = Ref(PyTuple_New(first + nargs));
  if (!args) return false;
  if (self) PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(self));
  for (Py_ssize_t i = 0; i < nargs; ++i)
    PyTuple_SET_ITEM(args.get(), first + i, Py_NewRef(argv[i]));
  if (!kwnames || PyTuple_GET_SIZE(kwnames) == 0) return true;
  kwargs = Ref(PyDict_New());
  for (Py_ssize_t k = 0; kwargs && k < PyTuple_GET_SIZE(kwnames); ++k)
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, k), argv[nargs + k]) < 0)
      return false;
  return static_cast<bool>(kwargs);
}

PyObject* call_method_override(const Callee& callee, PyObject* self, PyObject* a, PyObject* b) {
  Overloaded overloaded;
  overloaded.add_if_overrides(self);
  if (a) overloaded.add_if_overrides(a);
  if (b) overloaded.add_if_overrides(b);
  if (overloaded.size() == 0) overloaded.add(self);
  const Ref args(PyTuple_Pack(a ? (b ? 3 : 2) : 1, self, a, b));
  return args ? call_override(callee, overloaded, args.get(), nullptr) : nullptr;
}

}  // namespace taeda::python
