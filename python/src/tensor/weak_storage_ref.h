// A weak reference to a storage: whether two tensors share memory, without holding it.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

bool init_weak_storage_ref_type(PyObject* module);

}  // namespace taeda::python
