// Calls Python from the backward run.
#include "python/src/hooks.h"

#include <memory>
#include <new>

#include "python/src/tensor_type.h"
#include "python/src/wrap.h"

namespace taeda::python {

namespace {

// Shared by copies of a std::function; dropped with the GIL held, from whatever thread.
std::shared_ptr<PyObject> keep(PyObject* callable) {
  TAEDA_CHECK_TYPE(PyCallable_Check(callable), "hook must be callable, not ",
                   Py_TYPE(callable)->tp_name);
  return {Py_NewRef(callable), [](PyObject* o) {
            if (!Py_IsInitialized()) return;
            GilHold gil;
            Py_DECREF(o);
          }};
}

// Replaces tensors by what a hook returned: None leaves them, a tensor stands for a list of one.
void take_tensors(PyObject* result, std::vector<Tensor>& tensors) {
  if (result == Py_None) return;
  if (is_tensor(result) && tensors.size() == 1) {
    tensors[0] = tensor_of(result);
    return;
  }
  TAEDA_CHECK_TYPE(PyTuple_Check(result), "hook has returned a ", Py_TYPE(result)->tp_name,
                   ", but a tuple of Tensors or None was expected");
  TAEDA_CHECK(PyTuple_GET_SIZE(result) == static_cast<Py_ssize_t>(tensors.size()),
              "hook has returned an incorrect number of values (got ",
              static_cast<int64_t>(PyTuple_GET_SIZE(result)), ", but expected ",
              static_cast<int64_t>(tensors.size()), ")");
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i));
    tensors[i] = item == Py_None ? Tensor() : expect_tensor(item, "what a hook returns");
  }
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

PyGetSetDef getters[] = {{"id", get_id, nullptr, nullptr, nullptr}, {}};
PyMethodDef methods[] = {
    {"remove", handle_remove, METH_NOARGS, nullptr},
    {"__enter__", handle_enter, METH_NOARGS, nullptr},
    {"__exit__", handle_remove, METH_VARARGS, nullptr},
    {},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(handle_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, nullptr},
};
PyType_Spec spec = {"taeda._C._HookHandle", sizeof(HandleObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

autograd::TensorHook tensor_hook(PyObject* callable) {
  return [kept = keep(callable)](const Tensor& grad) -> Tensor {
    GilHold gil;
    Ref argument(checked(wrap(grad)));
    Ref result(checked(PyObject_CallOneArg(kept.get(), argument.get())));
    if (result.get() == Py_None) return Tensor();
    TAEDA_CHECK_TYPE(is_tensor(result.get()), "hook has returned a ",
                     Py_TYPE(result.get())->tp_name, ", but a Tensor or None was expected");
    return tensor_of(result.get());
  };
}

autograd::PreHook pre_hook(PyObject* callable) {
  return [kept = keep(callable)](std::vector<Tensor>& grads) {
    GilHold gil;
    Ref argument(checked(wrap(grads)));
    Ref result(checked(PyObject_CallOneArg(kept.get(), argument.get())));
    take_tensors(result.get(), grads);
  };
}

autograd::PostHook post_hook(PyObject* callable) {
  return [kept = keep(callable)](std::vector<Tensor>& grad_inputs, Span<Tensor> grads) {
    GilHold gil;
    Ref inputs(checked(wrap(grad_inputs))), outputs(checked(wrap(grads.vec())));
    Ref result(
        checked(PyObject_CallFunctionObjArgs(kept.get(), inputs.get(), outputs.get(), nullptr)));
    take_tensors(result.get(), grad_inputs);
  };
}

autograd::PostAccumulateHook post_accumulate_hook(PyObject* callable) {
  return [kept = keep(callable)](const Tensor& variable) {
    GilHold gil;
    Ref argument(checked(wrap(variable)));
    Ref result(checked(PyObject_CallOneArg(kept.get(), argument.get())));
  };
}

PyObject* hook_handle(std::weak_ptr<autograd::NodeHooks> hooks, uint64_t id) {
  PyObject* self = handle_type->tp_alloc(handle_type, 0);
  if (!self) return nullptr;
  new (&handle_of(self)->hooks) std::weak_ptr<autograd::NodeHooks>(std::move(hooks));
  handle_of(self)->id = id;
  return self;
}

bool init_hook_handle_type(PyObject* module) {
  handle_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return handle_type && PyModule_AddObjectRef(module, "_HookHandle",
                                              reinterpret_cast<PyObject*>(handle_type)) == 0;
}

}  // namespace taeda::python
