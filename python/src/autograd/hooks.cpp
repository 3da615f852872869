// Calls Python from the backward run.
#include "python/src/autograd/hooks.h"

#include <memory>
#include <new>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "taeda/autograd/variable.h"

namespace taeda::python {

namespace {

std::shared_ptr<PyObject> keep(PyObject* callable) {
  TAEDA_CHECK_TYPE(PyCallable_Check(callable), "hook must be callable, not ",
                   Py_TYPE(callable)->tp_name);
  return keep_object(callable);
}

std::string name_of(PyObject* callable) {
  Ref name(PyObject_GetAttrString(callable, "__name__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  return text ? text : "<unknown>";
}

std::string type_text(const Tensor& t) {
  return str("torch.",
             t.device().is_cpu() ? std::string() : device_type_name(t.device().type) + ".",
             t.dtype(), "Tensor");
}

// A gradient a hook puts in the place of another must be one of the same tensor.
Tensor replacement(PyObject* result, const Tensor& original, PyObject* callable) {
  if (result == Py_None) return Tensor();
  TAEDA_CHECK_TYPE(is_tensor(result), "expected Variable, but hook returned '",
                   Py_TYPE(result)->tp_name, "'");
  TAEDA_CHECK_TYPE(original.defined(), "can't replace a None gradient with a non-None value");
  const Tensor& fresh = tensor_of(result);
  TAEDA_CHECK(fresh.dtype() == original.dtype() && fresh.device().type == original.device().type,
              "hook '", name_of(callable), "' has changed the type of value (was ",
              type_text(original), " got ", type_text(fresh), ")");
  TAEDA_CHECK(fresh.sym_sizes() == original.sym_sizes(), "hook '", name_of(callable),
              "' has changed the size of value");
  return fresh;
}

// Replaces tensors by what a hook on a node returned: None leaves them all.
void take_tensors(PyObject* result, std::vector<Tensor>& tensors, PyObject* callable) {
  if (result == Py_None) return;
  TAEDA_CHECK_TYPE(PyTuple_Check(result), "expected tuple, but hook returned '",
                   Py_TYPE(result)->tp_name, "'");
  TAEDA_CHECK(PyTuple_GET_SIZE(result) == static_cast<Py_ssize_t>(tensors.size()), "hook '",
              name_of(callable), "' has returned an incorrect number of values (got ",
              static_cast<int64_t>(PyTuple_GET_SIZE(result)), ", but expected ",
              static_cast<int64_t>(tensors.size()), ")");
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i] =
        replacement(PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i)), tensors[i], callable);
}

// The callables have types of their own so that the collector can look for them in std::functions.
struct TensorCall {
  std::shared_ptr<PyObject> kept;
  Tensor operator()(const Tensor& grad) const {
    GilHold gil;
    Ref argument(checked(wrap(grad)));
    Ref result(checked(PyObject_CallOneArg(kept.get(), argument.get())));
    return replacement(result.get(), grad, kept.get());
  }
};

struct PreCall {
  std::shared_ptr<PyObject> kept;
  void operator()(std::vector<Tensor>& grads) const {
    GilHold gil;
    Ref argument(checked(wrap(grads)));
    Ref result(checked(PyObject_CallOneArg(kept.get(), argument.get())));
    take_tensors(result.get(), grads, kept.get());
  }
};

struct PostCall {
  std::shared_ptr<PyObject> kept;
  void operator()(std::vector<Tensor>& grad_inputs, Span<Tensor> grads) const {
    GilHold gil;
    Ref inputs(checked(wrap(grad_inputs))), outputs(checked(wrap(grads.vec())));
    Ref result(
        checked(PyObject_CallFunctionObjArgs(kept.get(), inputs.get(), outputs.get(), nullptr)));
    take_tensors(result.get(), grad_inputs, kept.get());
  }
};

struct PostAccumulateCall {
  std::shared_ptr<PyObject> kept;
  void operator()(const Tensor& variable) const {
    GilHold gil;
    Ref argument(checked(wrap(variable)));
    Ref result(checked(PyObject_CallOneArg(kept.get(), argument.get())));
    // As PyTorch: the tensor itself may come back, as from `lambda p: p.add_(...)`. What could not
    // take its place is named first.
    if (result.get() == argument.get()) return;
    const Tensor other = replacement(result.get(), variable, kept.get());
    TAEDA_CHECK(!other.defined(), "Tensor post accumulate grad hooks should return None.: hook '",
                name_of(kept.get()), "' returned another tensor");
  }
};

template <class Call, class Function>
int visit_call(const Function& function, visitproc visit, void* arg) {
  const Call* call = function.template target<Call>();
  if (call && call->kept.use_count() == 1) Py_VISIT(call->kept.get());
  return 0;
}

struct HandleObject {
  PyObject_HEAD std::weak_ptr<autograd::NodeHooks> hooks;
  uint64_t id;
};
PyTypeObject* handle_type = nullptr;

HandleObject* handle_of(PyObject* o) { return reinterpret_cast<HandleObject*>(o); }

void handle_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  handle_of(self)->hooks.~weak_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* handle_remove(PyObject* self, PyObject*) {
  if (const auto hooks = handle_of(self)->hooks.lock()) hooks->remove(handle_of(self)->id);
  Py_RETURN_NONE;
}
PyObject* handle_enter(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* get_id(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(handle_of(self)->id); }

PyGetSetDef handle_getters[] = {{"id", get_id, nullptr, nullptr, nullptr}, {}};
PyMethodDef handle_methods[] = {
    {"remove", handle_remove, METH_NOARGS, nullptr},
    {"__enter__", handle_enter, METH_NOARGS, nullptr},
    {"__exit__", handle_remove, METH_VARARGS, nullptr},
    {},
};
PyType_Slot handle_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(handle_dealloc)},
    {Py_tp_methods, handle_methods},
    {Py_tp_getset, handle_getters},
    {0, nullptr},
};
PyType_Spec handle_spec = {"taeda._C._HookHandle", sizeof(HandleObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};

}  // namespace

autograd::TensorHook tensor_hook(PyObject* callable) { return TensorCall{keep(callable)}; }
autograd::PreHook pre_hook(PyObject* callable) { return PreCall{keep(callable)}; }
autograd::PostHook post_hook(PyObject* callable) { return PostCall{keep(callable)}; }
autograd::PostAccumulateHook post_accumulate_hook(PyObject* callable) {
  return PostAccumulateCall{keep(callable)};
}

PyObject* wrap_tensor_hooks(const Tensor& t) {
  const auto* meta = autograd::meta_or_null(t.impl());
  const auto node = autograd::grad_fn(t);
  autograd::NodeHooks* hooks = node ? node->hooks() : meta ? meta->hooks.get() : nullptr;
  Ref dict(checked(PyDict_New()));
  if (hooks)
    for (const auto& hook : hooks->copy_of(hooks->tensor)) {
      const auto* call = hook.call.target<TensorCall>();
      if (!call || (node && hook.input != autograd::output_nr(t))) continue;
      const Ref id(checked(PyLong_FromUnsignedLongLong(hook.id)));
      if (PyDict_SetItem(dict.get(), id.get(), call->kept.get()) < 0) throw_python_error();
    }
  return PyDict_GET_SIZE(dict.get()) ? dict.release() : Py_NewRef(Py_None);
}

int visit_hooks(const autograd::NodeHooks& hooks, visitproc visit, void* arg) {
  int stop = 0;
  for (const auto& hook : hooks.tensor)
    if ((stop = visit_call<TensorCall>(hook.call, visit, arg))) return stop;
  for (const auto& [id, call] : hooks.pre)
    if ((stop = visit_call<PreCall>(call, visit, arg))) return stop;
  for (const auto& [id, call] : hooks.post)
    if ((stop = visit_call<PostCall>(call, visit, arg))) return stop;
  for (const auto& [id, call] : hooks.post_accumulate)
    if ((stop = visit_call<PostAccumulateCall>(call, visit, arg))) return stop;
  if (hooks.metadata && hooks.metadata.use_count() == 1)
    Py_VISIT(static_cast<PyObject*>(hooks.metadata.get()));
  return 0;
}

int visit_hooks_of(autograd::Node& node, visitproc visit, void* arg) {
  if (!node.hooks() || node.ensure_hooks().use_count() != 1) return 0;
  return visit_hooks(*node.hooks(), visit, arg);
}

namespace {
thread_local PyObject* hook_watcher = nullptr;  // owned
}

PyObject* set_hook_watcher(PyObject*, PyObject* watcher) {
  PyObject* before = hook_watcher ? hook_watcher : Py_NewRef(Py_None);
  hook_watcher = watcher == Py_None ? nullptr : Py_NewRef(watcher);
  return before;
}

void tell_hook_watcher(PyObject* tensor, PyObject* hook) {
  if (hook_watcher) Ref(checked(PyObject_CallFunctionObjArgs(hook_watcher, tensor, hook, nullptr)));
}

PyObject* hook_handle(std::weak_ptr<autograd::NodeHooks> hooks, uint64_t id) {
  PyObject* self = handle_type->tp_alloc(handle_type, 0);
  if (!self) return nullptr;
  new (&handle_of(self)->hooks) std::weak_ptr<autograd::NodeHooks>(std::move(hooks));
  handle_of(self)->id = id;
  return self;
}

bool init_hook_handle_type(PyObject* module) {
  handle_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&handle_spec));
  return handle_type && PyModule_AddObjectRef(module, "_HookHandle",
                                              reinterpret_cast<PyObject*>(handle_type)) == 0;
}

}  // namespace taeda::python
