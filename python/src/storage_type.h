// taeda.UntypedStorage: the bytes behind a tensor.
#pragma once

#include "python/src/python.h"

#include "taeda/core/storage.h"

namespace taeda::python {

PyObject* wrap_storage(const Storage& storage);
bool init_storage_type(PyObject* module);

}  // namespace taeda::python
