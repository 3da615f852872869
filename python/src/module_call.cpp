// The call of nn.Module: `forward` at once where no hook and no override has a say in it.
#include "python/src/module_call.h"

#include <algorithm>
#include <vector>

#include "python/interop/errors.h"

namespace taeda::python {

namespace {

PyObject* interned(const char* text) {
  PyObject* const name = PyUnicode_InternFromString(text);
  if (!name) throw_python_error();
  return name;
}

// What calls look for. Made once, with the class, and kept as long as the process.
struct ModuleClass {
  PyObject* const call_impl;          // as Module defines it
  PyObject* const wrapped_call_impl;  // the call with everything that may be part of one
  PyObject* const shared_tables;      // the dictionary that holds the hooks of all modules
  PyObject* const forward = interned("forward");
  PyObject* const getattribute = interned("__getattribute__");
  PyObject* const call_impl_name = interned("_call_impl");
  PyObject* const compiled = interned("_compiled_call_impl");
  PyObject* const own_hooks[4] = {interned("_forward_hooks"), interned("_forward_pre_hooks"),
                                  interned("_backward_hooks"), interned("_backward_pre_hooks")};
  PyObject* const shared_hooks[4] = {
      interned("_global_forward_hooks"), interned("_global_forward_pre_hooks"),
      interned("_global_backward_hooks"), interned("_global_backward_pre_hooks")};
};
const ModuleClass* module_class = nullptr;

// Whether the table is there and empty. Tables of other types than dict are left to Python.
bool is_empty(PyObject* tables, PyObject* name) {
  PyObject* const table = PyDict_GetItemWithError(tables, name);
  return table && PyDict_Check(table) && PyDict_GET_SIZE(table) == 0;
}

// Whether the class calls as Module does and finds attributes as every object does.
bool is_plain_class(PyTypeObject* type, const ModuleClass& known) {
  return _PyType_Lookup(type, known.call_impl_name) == known.call_impl &&
         _PyType_Lookup(type, known.compiled) == Py_None &&
         _PyType_Lookup(type, known.getattribute) ==
             _PyType_Lookup(&PyBaseObject_Type, known.getattribute);
}

// Whether a call of the module is a call of `forward` and nothing else.
bool is_plain_call(PyObject* self, PyObject* members, const ModuleClass& known) {
  if (!is_plain_class(Py_TYPE(self), known)) return false;
  const auto has = [&](PyObject* name) { return PyDict_Contains(members, name) != 0; };
  if (has(known.compiled) || has(known.call_impl_name)) return false;
  return std::all_of(std::begin(known.own_hooks), std::end(known.own_hooks),
                     [&](PyObject* name) { return is_empty(members, name); }) &&
         std::all_of(std::begin(known.shared_hooks), std::end(known.shared_hooks),
                     [&](PyObject* name) { return is_empty(known.shared_tables, name); });
}

// Calls `function(self, *args, **kwargs)`; arguments come as vectorcall passes them.
PyObject* call_with_self(PyObject* function, PyObject* self, PyObject* const* argv,
                         Py_ssize_t nargs, PyObject* kwnames) {
  const size_t count = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) + 2;
  PyObject* few[10];
  std::vector<PyObject*> many;
  if (count > std::size(few)) many.resize(count);
  PyObject** const stack = many.empty() ? few : many.data();
  // The first place is the callee's to use.
  stack[1] = self;
  std::copy_n(argv, count - 2, stack + 2);
  return PyObject_Vectorcall(function, stack + 1, (nargs + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                             kwnames);
}

PyObject* call_forward(PyObject* self, PyObject* members, PyObject* const* argv, Py_ssize_t nargs,
                       PyObject* kwnames) {
  const ModuleClass& known = *module_class;
  // A function of the class needs no bound method; the reference outlives what the call changes.
  Ref method = Ref::share(_PyType_Lookup(Py_TYPE(self), known.forward));
  if (method && PyType_HasFeature(Py_TYPE(method.get()), Py_TPFLAGS_METHOD_DESCRIPTOR) &&
      PyDict_Contains(members, known.forward) == 0)
    return call_with_self(method.get(), self, argv, nargs, kwnames);
  Ref forward(PyObject_GetAttr(self, known.forward));
  return forward ? PyObject_Vectorcall(forward.get(), argv, nargs, kwnames) : nullptr;
}

PyObject* call_module(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    Ref members(checked(PyObject_GenericGetDict(self, nullptr)));
    if (is_plain_call(self, members.get(), *module_class))
      return call_forward(self, members.get(), argv, nargs, kwnames);
    if (PyErr_Occurred()) return nullptr;
    return call_with_self(module_class->wrapped_call_impl, self, argv, nargs, kwnames);
  });
}

PyMethodDef call_definition = {"__call__", as_function(call_module), METH_FASTCALL | METH_KEYWORDS,
                               "__call__($self, /, *args, **kwargs)\n--\n\n"
                               "Runs forward between the hooks."};

PyObject* module_call(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2 && PyType_Check(argv[0]) && PyDict_Check(argv[1]),
                     "_module_call(): expected a class and a dictionary");
    TAEDA_CHECK(!module_class, "_module_call(): there is one class of modules");
    PyObject* const type = argv[0];
    Ref call(checked(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type), &call_definition)));
    Ref inner(checked(PyObject_GetAttrString(type, "_call_impl")));
    Ref wrapped(checked(PyObject_GetAttrString(type, "_wrapped_call_impl")));
    module_class = new ModuleClass{inner.release(), wrapped.release(), Py_NewRef(argv[1])};
    return call.release();
  });
}

}  // namespace

bool is_plain_module_call(PyObject* module) {
  if (!module_class) return false;
  const Ref members(PyObject_GenericGetDict(module, nullptr));
  const bool is_plain = members && is_plain_call(module, members.get(), *module_class);
  if (PyErr_Occurred()) PyErr_Clear();
  return is_plain;
}

void tables_of_plain_call(PyObject* module, std::vector<PyObject*>& tables) {
  const Ref members(PyObject_GenericGetDict(module, nullptr));
  for (PyObject* name : module_class->own_hooks)
    tables.push_back(PyDict_GetItemWithError(members.get(), name));
  for (PyObject* name : module_class->shared_hooks)
    tables.push_back(PyDict_GetItemWithError(module_class->shared_tables, name));
}

PyMethodDef module_call_table[] = {
    {"_module_call", as_function(module_call), METH_FASTCALL,
     "_module_call(cls, tables) -> method\n\n"
     "`__call__` of the class of modules; `tables` holds the hooks of all modules."},
    {}};

}  // namespace taeda::python
