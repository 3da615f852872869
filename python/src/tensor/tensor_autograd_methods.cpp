// Methods of Tensor that speak to autograd, and the functions behind taeda.autograd.
#include <memory>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/args/args.h"
#include "python/src/autograd/hooks.h"
#include "python/src/tensor/factories.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/autograd/engine.h"
#include "taeda/autograd/grad_level.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

namespace {

const Param requires_grad_params[] = {
    {"self", ParamType::Tensor},
    {"requires_grad", ParamType::Bool, false, false, true},
};
const Signature requires_grad_signature[] = {
    {"(Tensor input, bool requires_grad = True)", requires_grad_params, 2}};

PyObject* requires_grad_(PyObject* self, PyObject* const* argv, Py_ssize_t nargs,
                         PyObject* kwnames) {
  Args args;
  if (parse("requires_grad_", requires_grad_signature, 1, self, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    const bool wanted = args.boolean(1, true);
    autograd::check_outside_levels("requires_grad_");
    TAEDA_CHECK(wanted || !autograd::has_node(t),
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    TAEDA_CHECK(!wanted || autograd::is_differentiable(t.dtype()),
                "only Tensors of floating point dtype can require gradients");
    autograd::set_requires_grad(t, wanted);
    return Py_NewRef(self);
  });
}

const Param backward_params[] = {
    {"self", ParamType::Tensor},
    {"gradient", ParamType::Tensor, true, false, true},
    {"retain_graph", ParamType::Bool, true, false, true},
    {"create_graph", ParamType::Bool, false, false, true},
    {"inputs", ParamType::PyObject, true, false, true},
};
const Signature backward_signature[] = {
    {"(Tensor input, Tensor gradient = None, bool retain_graph = None, bool create_graph = False, "
     "tuple of Tensors "
     "inputs = None)",
     backward_params, 5}};

// Anything but the plain case is left to autograd.backward.
PyObject* backward_in_python(PyObject* self, const Args& args) {
  static PyObject* const function = [] {
    Ref module(checked(PyImport_ImportModule("taeda.autograd")));
    return checked(PyObject_GetAttrString(module.get(), "backward"));
  }();
  const auto given = [&](int i) { return args.has(i) ? args.object(i) : Py_None; };
  Ref call(checked(PyTuple_Pack(6, self, given(1), given(2), args.boolean(3) ? Py_True : Py_False,
                                Py_None, given(4))));
  return checked(PyObject_CallObject(function, call.get()));
}

PyObject* backward(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse("backward", backward_signature, 1, self, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&]() -> PyObject* {
    if (args.has(4) || args.boolean(3)) return backward_in_python(self, args);
    const Tensor roots[] = {tensor_of(self)};
    const Tensor grads[] = {args.has(1) ? args.tensor(1) : Tensor()};
    const bool create_graph = args.boolean(3), keep_graph = args.boolean(2, create_graph);
    {
      GilRelease gil;
      autograd::run_backward(roots, grads, keep_graph, create_graph);
    }
    return Py_NewRef(Py_None);
  });
}

// A wrapper that its class made anew counts its writes with its source, but for calls of handlers,
// which tie their results themselves.
void count_writes_together(const Tensor& source, const Tensor& out) {
  if (__builtin_expect(!source.keys().has(Key::Python), 1)) return;
  const bool has_both = out.defined() && out.storage() && source.storage();
  if (!has_both || local_keys().exclude.has(Key::ADInplaceOrView)) return;
  if (dispatch::has_no_memory(source) && dispatch::has_no_memory(out))
    out.impl()->set_storage(source.storage());
}

PyObject* detach(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    Tensor out = taeda::detach(t);
    count_writes_together(t, out);
    // Outside the mode the result counts writes though its source does not.
    if (t.is_inference() && !is_inference_mode()) out.impl()->own_version_counter();
    return wrap(out);
  });
}
PyObject* detach_(PyObject* self, PyObject*) {
  return guarded([&] {
    autograd::detach_inplace(tensor_of(self));
    return Py_NewRef(self);
  });
}
PyObject* retain_grad(PyObject* self, PyObject*) {
  return guarded([&] {
    autograd::check_outside_levels("retain_grad");
    autograd::retain_grad(tensor_of(self));
    return Py_NewRef(Py_None);
  });
}

// The hooks of a tensor live with its node, or with itself where it is a leaf.
std::weak_ptr<autograd::NodeHooks> hooks_of(const Tensor& t) {
  if (const auto node = autograd::grad_fn(t)) return node->ensure_hooks();
  return autograd::meta_of(t).hooks;
}

PyObject* register_hook(PyObject* self, PyObject* callable) {
  return guarded([&] {
    tell_hook_watcher(self, callable);
    const Tensor& t = tensor_of(self);
    TAEDA_CHECK(autograd::requires_grad(t),
                "cannot register a hook on a tensor that doesn't require gradient");
    const uint64_t id = autograd::register_hook(t, tensor_hook(callable));
    track_tensor(self);  // the hook may refer back to it
    return hook_handle(hooks_of(t), id);
  });
}
PyObject* register_post_accumulate_grad_hook(PyObject* self, PyObject* callable) {
  return guarded([&] {
    tell_hook_watcher(self, callable);
    const Tensor& t = tensor_of(self);
    TAEDA_CHECK(autograd::requires_grad(t),
                "cannot register a hook on a tensor that doesn't require gradient");
    TAEDA_CHECK(autograd::is_leaf(t),
                "post accumulate grad hooks cannot be registered on non-leaf tensors");
    const uint64_t id = autograd::register_post_accumulate_hook(t, post_accumulate_hook(callable));
    track_tensor(self);
    return hook_handle(hooks_of(t), id);
  });
}

}  // namespace

PyMethodDef tensor_autograd_methods[] = {
    {"requires_grad_", as_function(requires_grad_), METH_FASTCALL | METH_KEYWORDS,
     "requires_grad_(requires_grad=True) -> Tensor\n\n"
     "Says whether operations on the tensor are recorded for backward; returns the tensor."},
    {"backward", as_function(backward), METH_FASTCALL | METH_KEYWORDS,
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None) -> None\n\n"
     "Adds the gradient of this tensor to `.grad` of the leaves it was computed from. A tensor of "
     "more\n"
     "than one element needs `gradient`, the weight of each."},
    {"detach", detach, METH_NOARGS,
     "detach() -> Tensor\n\n"
     "A view of the same memory that knows nothing of how it was computed."},
    {"detach_", detach_, METH_NOARGS,
     "detach_() -> Tensor\n\n"
     "Forgets how the tensor was computed: it becomes a leaf."},
    {"retain_grad", retain_grad, METH_NOARGS,
     "retain_grad() -> None\n\n"
     "Lets backward keep `.grad` of this tensor though it is not a leaf."},
    {"register_hook", register_hook, METH_O,
     "register_hook(hook) -> handle\n\n"
     "Calls `hook(grad)` whenever the gradient of this tensor is computed; what the hook returns, "
     "if\n"
     "anything, takes its place. `handle.remove()` ends it."},
    {"register_post_accumulate_grad_hook", register_post_accumulate_grad_hook, METH_O,
     "register_post_accumulate_grad_hook(hook) -> handle\n\n"
     "Calls `hook(tensor)` after backward has added to `.grad` of this leaf."},
    {},
};

}  // namespace taeda::python
