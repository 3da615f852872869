// taeda._C._inductor: programs compiled ahead of time, in files.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern PyMethodDef package_functions[];

}  // namespace taeda::python
