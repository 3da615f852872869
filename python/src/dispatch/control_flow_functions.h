// What control-flow operators need of C++.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern PyMethodDef control_flow_table[];

}  // namespace taeda::python
