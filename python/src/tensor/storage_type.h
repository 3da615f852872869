// taeda.UntypedStorage: the bytes behind a tensor.
#pragma once

#include "python/interop/python.h"

#include "taeda/core/tensor.h"

namespace taeda::python {

PyObject* wrap_storage(const Storage& storage);
// The storage of a tensor; its size is symbolic where the tensor's are.
PyObject* wrap_storage(const Tensor& t);
bool is_storage(PyObject* o);
// The storage of an object for which is_storage holds.
Storage& storage_of(PyObject* o);
// The bytes of a TypedStorage, a class of Python's, whose dtype must be `dtype`; null for anything
// else.
Ref bytes_of_typed(PyObject* source, DType dtype);
bool init_storage_type(PyObject* module);

}  // namespace taeda::python
