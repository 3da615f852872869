// Seeds of random streams from Python.
#pragma once

#include "python/interop/python.h"

#include <cstdint>

namespace taeda::python {

// The 64 bits of an int in [-2^63, 2^64); ValueError outside, RuntimeError for what is no int.
uint64_t to_seed(PyObject* o);

}  // namespace taeda::python
