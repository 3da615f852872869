// Lists of numbers from Python.
#pragma once

#include <vector>

#include "python/interop/python.h"
#include "taeda/core/scalar.h"

namespace taeda::python {

// The items of a list or tuple; each keeps its kind. Needs the GIL.
std::vector<Scalar> read_scalars(PyObject* sequence);

}  // namespace taeda::python
