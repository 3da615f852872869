// Backward nodes as Python sees them: tensor.grad_fn.
#pragma once

#include "python/interop/python.h"

#include "taeda/autograd/node.h"

namespace taeda::python {

// A new reference; None for no node. Handles of one node are one object while any is alive; a call
// of autograd.Function is its own context.
PyObject* wrap_node(const IntrusivePtr<autograd::Node>& node);
// The node behind an object that wrap_node made; null for other objects.
IntrusivePtr<autograd::Node> node_behind(PyObject* o);
bool init_grad_fn_type(PyObject* module);
// The class of accumulators of leaves, as AccumulateGrad.
bool init_leaf_node_type(PyObject* module);

// What taeda._C._autograd offers.
extern PyMethodDef autograd_private_table[];

// ---- methods of all kinds of handles; in node_methods.cpp ----
PyObject* node_next_functions(const autograd::Node& node);
PyObject* node_input_metadata(const autograd::Node& node);
// The dict that belongs to the node, made at the first call.
PyObject* hooks_metadata(autograd::NodeHooks& hooks);
PyObject* node_metadata(autograd::Node& node);
PyObject* hooks_register(const std::shared_ptr<autograd::NodeHooks>& hooks, PyObject* callable);
PyObject* hooks_register_pre(const std::shared_ptr<autograd::NodeHooks>& hooks, PyObject* callable);
bool init_node_methods(PyObject* module);

}  // namespace taeda::python
