// taeda._C._aot: programs of Python traced, differentiated and handed to compilers.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

bool init_aot(PyObject* module);

}  // namespace taeda::python
