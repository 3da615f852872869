// DLPack: tensors exchanged with other libraries without a copy.
#pragma once

#include "python/interop/python.h"

#include "taeda/core/tensor.h"

namespace taeda::python {

// A capsule ("dltensor_versioned" or "dltensor") that shares the tensor's memory.
PyObject* dlpack_capsule(const Tensor& t, bool is_versioned, bool is_copy);
// Takes a capsule over; it cannot be used again.
Tensor tensor_from_dlpack_capsule(PyObject* capsule);
// Asks an object with __dlpack__ for its memory.
Tensor tensor_from_dlpack_object(PyObject* o);

}  // namespace taeda::python
