// What valgrind_requests.cpp adds to taeda._C.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern PyMethodDef valgrind_table[];

}  // namespace taeda::python
