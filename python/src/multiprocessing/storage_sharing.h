// taeda._C._multiprocessing: storages and arenas of shared memory, and names and signals of
// processes.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern const PyMethodDef multiprocessing_table[];
bool init_shared_arena_type(PyObject* multiprocessing);

}  // namespace taeda::python
