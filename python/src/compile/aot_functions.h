// taeda._C._aot: programs of Python traced, differentiated and handed to compilers.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

// The share of memory that a backward may save, from 0 to 1.
double read_memory_budget(PyObject* o);
bool init_aot(PyObject* module);

}  // namespace taeda::python
