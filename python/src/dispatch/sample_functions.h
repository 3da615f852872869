// taeda._C._dispatch functions that give the records' sample calls.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern PyMethodDef sample_table[];

}  // namespace taeda::python
