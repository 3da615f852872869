// taeda._C._dynamo.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

// The function of a callable that is compiled; null for other objects. Borrowed.
PyObject* compiled_function_of(PyObject* object);

bool init_dynamo(PyObject* module);

}  // namespace taeda::python
