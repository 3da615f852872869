// The values that backward nodes saved, as attributes of their Python handles, and hooks on them.
#pragma once

#include "python/interop/python.h"

#include "taeda/autograd/saved.h"

namespace taeda::python {

// The attributes `_saved_<name>` and `_raw_saved_<name>` for the values that such nodes save,
// terminated by an empty entry; made for a type, so it lives forever. Each getter takes a handle of
// a node.
PyGetSetDef* saved_getters(autograd::Node& node);

// The object with register_hooks behind `_raw_saved_<name>`; keeps the node.
PyObject* wrap_saved(const IntrusivePtr<autograd::Node>& node, autograd::SavedTensor& saved);

// A pair of Python callables.
IntrusivePtr<autograd::SavedTensorHooks> saved_tensor_hooks(PyObject* pack, PyObject* unpack);

// _make_saved_tensor(tensor, is_output=False): a saved tensor that belongs to no node.
PyObject* make_saved_tensor(PyObject*, PyObject* args, PyObject* kwargs);

// Adds the class SavedTensor.
bool init_saved_tensor_type(PyObject* module);

}  // namespace taeda::python
