// Functions in C++ for the control-flow operators.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern PyMethodDef control_flow_table[];

}  // namespace taeda::python
