// taeda._C._dynamo.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

bool init_dynamo(PyObject* module);

}  // namespace taeda::python
