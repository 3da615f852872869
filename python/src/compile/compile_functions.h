// taeda._C._inductor: compiled graphs for the package's Python code.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

bool init_compiled_graph_type(PyObject* module);

}  // namespace taeda::python
