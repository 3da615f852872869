// Nodes whose backward is a Python method: taeda.autograd.Function.
#pragma once

#include "python/src/python.h"

namespace taeda::python {

extern PyMethodDef python_node_table[];

}  // namespace taeda::python
