// taeda._C._dispatch functions that taeda.fx.decompositions is made of.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern PyMethodDef decomposition_table[];

}  // namespace taeda::python
