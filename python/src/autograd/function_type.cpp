// _C._FunctionBase: the context of a call of autograd.Function, and its node's handle.
#include <structmember.h>

#include <cstddef>

#include "python/interop/errors.h"
#include "python/interop/wrap.h"
#include "python/src/autograd/grad_fn_type.h"
#include "python/src/autograd/hooks.h"
#include "python/src/autograd/python_node.h"
#include "python/src/autograd/saved_access.h"
#include "taeda/autograd/grad_mode.h"

namespace taeda::python {

namespace {

PyTypeObject* function_type = nullptr;

FunctionObject* function_of(PyObject* o) { return reinterpret_cast<FunctionObject*>(o); }

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self)
    function_of(self)->materialize_grads = function_of(self)->materialize_non_diff_grads = true;
  return self;
}

int function_traverse(PyObject* self, visitproc visit, void* arg) {
  FunctionObject& f = *function_of(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(f.needs_input_grad);
  Py_VISIT(f.to_save);
  Py_VISIT(f.saved_for_forward);
  Py_VISIT(f.dirty_tensors);
  Py_VISIT(f.non_differentiable);
  if (f.kept_hooks && f.kept_hooks->use_count() == 1)
    return visit_hooks(**f.kept_hooks, visit, arg);
  return 0;
}

int clear(PyObject* self) {
  FunctionObject& f = *function_of(self);
  Py_CLEAR(f.needs_input_grad);
  Py_CLEAR(f.to_save);
  Py_CLEAR(f.saved_for_forward);
  Py_CLEAR(f.dirty_tensors);
  Py_CLEAR(f.non_differentiable);
  delete std::exchange(f.kept_hooks, nullptr);
  return 0;
}

void function_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  delete function_of(self)->outlived;
  type->tp_free(self);
  Py_DECREF(type);
}

PythonNode& function_node(PyObject* self, const char* attribute) {
  PythonNode* node = function_of(self)->node;
  TAEDA_CHECK(node, "Attribute '", attribute,
              "' is invalid for this instance of _C._FunctionBase: it belongs to a call that was "
              "not recorded, or whose graph is gone");
  return *node;
}

// Outputs come without the history that went with the node.
std::vector<Tensor> unpacked(const std::vector<autograd::SavedTensor>& saved) {
  const autograd::NoGrad unrecorded;
  std::vector<Tensor> out;
  for (const autograd::SavedTensor& s : saved) out.push_back(s.unpack());
  return out;
}

// Hands the tensors out for good, so that backward alone keeps them.
PyObject* taken_saved_tensors(FunctionObject& f) {
  TAEDA_CHECK(!f.is_cleared,
              "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is "
              "set on the autograd.Function. Either access saved_tensors only once, or set "
              "clear_saved_tensors_on_access=False.");
  const std::vector<Tensor> tensors = f.node->saved_tensors();
  f.node->release_saved();
  f.is_cleared = true;
  return wrap(tensors);
}

// In forward what was given to save_for_backward so far; in jvp what was given to
// save_for_forward; in backward the checked tensors.
PyObject* get_saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    FunctionObject& f = *function_of(self);
    if (f.is_in_jvp) return f.saved_for_forward ? Py_NewRef(f.saved_for_forward) : PyTuple_New(0);
    if (f.node && has_class_flag(self, "clear_saved_tensors_on_access"))
      return taken_saved_tensors(f);
    if (f.node) return wrap(f.node->saved_tensors());
    if (f.outlived) return wrap(unpacked(*f.outlived));
    if (f.saved_for_forward) return Py_NewRef(f.saved_for_forward);
    return f.to_save ? Py_NewRef(f.to_save) : PyTuple_New(0);
  });
}

PyObject* get_raw_saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    PythonNode& node = function_node(self, "_raw_saved_tensors");
    auto& saved = node.saved();
    for (const autograd::SavedTensor& s : saved)
      if (s.is_freed()) autograd::fail_freed();
    Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(saved.size()))));
    const auto owner = IntrusivePtr<autograd::Node>::share(&node);
    for (size_t i = 0; i < saved.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                       checked(wrap_saved(owner, saved[i])));
    return tuple.release();
  });
}

// A context without a node has no edges; hooks and notes it keeps itself.
PyObject* function_next_functions(PyObject* self, void*) {
  PythonNode* node = function_of(self)->node;
  return guarded([&] { return node ? node_next_functions(*node) : PyTuple_New(0); });
}
PyObject* function_input_metadata(PyObject* self, void*) {
  PythonNode* node = function_of(self)->node;
  return guarded([&] { return node ? node_input_metadata(*node) : PyList_New(0); });
}
const std::shared_ptr<autograd::NodeHooks>& hooks_of(PyObject* self) {
  FunctionObject& f = *function_of(self);
  if (f.node) return f.node->ensure_hooks();
  if (!f.kept_hooks)
    f.kept_hooks =
        new std::shared_ptr<autograd::NodeHooks>(std::make_shared<autograd::NodeHooks>());
  return *f.kept_hooks;
}
PyObject* function_metadata(PyObject* self, void*) {
  return guarded([&] { return hooks_metadata(*hooks_of(self)); });
}

PyObject* get_saved_variables(PyObject* self, void* closure) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "'saved_variables' is deprecated; use 'saved_tensors'",
                   1) < 0)
    return nullptr;
  return get_saved_tensors(self, closure);
}

PyObject* function_name(PyObject* self, PyObject*) {
  return PyUnicode_FromString(Py_TYPE(self)->tp_name);
}
PyObject* function_sequence_nr(PyObject* self, PyObject*) {
  return guarded([&] {
    return PyLong_FromUnsignedLongLong(function_node(self, "_sequence_nr").sequence_nr());
  });
}
PyObject* function_register_hook(PyObject* self, PyObject* callable) {
  return guarded([&] { return hooks_register(hooks_of(self), callable); });
}
PyObject* function_register_prehook(PyObject* self, PyObject* callable) {
  return guarded([&] { return hooks_register_pre(hooks_of(self), callable); });
}

PyMemberDef members[] = {
    {"needs_input_grad", T_OBJECT, offsetof(FunctionObject, needs_input_grad), 0, nullptr},
    {"to_save", T_OBJECT, offsetof(FunctionObject, to_save), 0, nullptr},
    {"saved_for_forward", T_OBJECT, offsetof(FunctionObject, saved_for_forward), 0, nullptr},
    {"dirty_tensors", T_OBJECT, offsetof(FunctionObject, dirty_tensors), 0, nullptr},
    {"non_differentiable", T_OBJECT, offsetof(FunctionObject, non_differentiable), 0, nullptr},
    {"materialize_grads", T_BOOL, offsetof(FunctionObject, materialize_grads), 0, nullptr},
    {"_materialize_non_diff_grads", T_BOOL, offsetof(FunctionObject, materialize_non_diff_grads), 0,
     nullptr},
    {},
};
PyGetSetDef function_getters[] = {
    {"saved_tensors", get_saved_tensors, nullptr, nullptr, nullptr},
    {"saved_variables", get_saved_variables, nullptr, nullptr, nullptr},
    {"_raw_saved_tensors", get_raw_saved_tensors, nullptr, nullptr, nullptr},
    {"next_functions", function_next_functions, nullptr, nullptr, nullptr},
    {"metadata", function_metadata, nullptr, nullptr, nullptr},
    {"_input_metadata", function_input_metadata, nullptr, nullptr, nullptr},
    {},
};
PyMethodDef function_methods[] = {
    {"apply", as_function(function_apply), METH_FASTCALL | METH_KEYWORDS | METH_CLASS, nullptr},
    {"_apply_here", as_function(function_apply_here), METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     nullptr},
    {"name", function_name, METH_NOARGS, nullptr},
    {"_sequence_nr", function_sequence_nr, METH_NOARGS, nullptr},
    {"register_hook", function_register_hook, METH_O, nullptr},
    {"register_prehook", function_register_prehook, METH_O, nullptr},
    {},
};
PyType_Slot function_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(function_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_members, members},
    {Py_tp_getset, function_getters},
    {Py_tp_methods, function_methods},
    {0, nullptr},
};
PyType_Spec function_spec = {"taeda._C._FunctionBase", sizeof(FunctionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                             function_slots};

}  // namespace

IntrusivePtr<autograd::Node> node_of_function(PyObject* o) {
  if (!PyObject_TypeCheck(o, function_type)) return nullptr;
  return IntrusivePtr<autograd::Node>::share(function_of(o)->node);
}

bool init_function_type(PyObject* module) {
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&function_spec));
  return function_type && PyModule_AddObjectRef(module, "_FunctionBase",
                                                reinterpret_cast<PyObject*>(function_type)) == 0;
}

}  // namespace taeda::python
