// Python callables as autograd hooks, and the handles that remove them.
#pragma once

#include "python/interop/python.h"

#include "taeda/autograd/node.h"
#include "taeda/core/tensor.h"

namespace taeda::python {

// Each keeps the callable; a Python error inside it stops the backward run and reaches its caller.
autograd::TensorHook tensor_hook(PyObject* callable);
autograd::PreHook pre_hook(PyObject* callable);
autograd::PostHook post_hook(PyObject* callable);
autograd::PostAccumulateHook post_accumulate_hook(PyObject* callable);

// From now on `watcher(tensor, hook)` is called before hooks of tensors that this thread registers,
// and may raise; None ends it. Gives the one before.
PyObject* set_hook_watcher(PyObject*, PyObject* watcher);
void tell_hook_watcher(PyObject* tensor, PyObject* hook);

// The callables of a tensor's hooks by their ids, in order; None where it has none.
PyObject* wrap_tensor_hooks(const Tensor& t);

// For tp_traverse of the only owner of the hooks: shows their callables to the collector.
int visit_hooks(const autograd::NodeHooks& hooks, visitproc visit, void* arg);
// For tp_traverse of the only owner of the node. Hooks that an accumulator shares with its leaf are
// not shown: the leaf may be in use when the accumulator's handle is not.
int visit_hooks_of(autograd::Node& node, visitproc visit, void* arg);

// An object with remove() that also works as a context manager; it does not keep the hooks alive.
PyObject* hook_handle(std::weak_ptr<autograd::NodeHooks> hooks, uint64_t id);
bool init_hook_handle_type(PyObject* module);

}  // namespace taeda::python
