// Numbers from Python: its own, NumPy's, symbolic ones, and tensors of one element.
//
// Each throws where the object or its value does not fit. All of it needs the GIL.
#pragma once

#include "python/interop/python.h"

#include "taeda/core/tensor.h"

namespace taeda::python {

// A Python or NumPy number (bool included); tensors are not numbers.
bool is_number(PyObject* o);
// Whether an int parameter takes the object: integers, objects with __index__, zero-dim integer
// tensors; no bool.
bool is_integer(PyObject* o);
// The same for tensors of one element with dimensions, as lists of sizes take them.
bool is_one_integer(PyObject* o);
Scalar to_scalar(PyObject* o);
int64_t to_int64(PyObject* o);
double to_double(PyObject* o);

// NumPy scalars are told by their type's name, so that NumPy need not be loaded.
enum class NumpyKind : uint8_t { None, Bool, Int, Float, Complex };
NumpyKind numpy_scalar_kind(PyObject* o);

}  // namespace taeda::python
