// taeda._C._export: exported programs for the package's Python code.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern PyMethodDef export_table[];

}  // namespace taeda::python
