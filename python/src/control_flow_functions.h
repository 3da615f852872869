// What control-flow operators need of C++.
#pragma once

#include "python/src/python.h"

namespace taeda::python {

extern PyMethodDef control_flow_table[];

}  // namespace taeda::python
