// The small Python types: dtype, device, layout, memory_format, Generator and Size.
//
// dtype, layout and memory_format have one object per value, so identity is equality.
#pragma once

#include "python/interop/python.h"

#include "taeda/core/generator.h"
#include "taeda/core/tensor.h"

namespace taeda::python {

extern PyTypeObject* dtype_type;
extern PyTypeObject* device_type;
extern PyTypeObject* layout_type;
extern PyTypeObject* memory_format_type;
extern PyTypeObject* generator_type;
extern PyTypeObject* size_type;

// Also true for the Python types float, int, bool and complex.
bool is_dtype(PyObject* o);
DType to_dtype(PyObject* o);
// A device object, a string or an index of the accelerator.
bool is_device(PyObject* o);
Device to_device(PyObject* o);
inline bool is_layout(PyObject* o) { return Py_IS_TYPE(o, layout_type); }
Layout to_layout(PyObject* o);
inline bool is_memory_format(PyObject* o) { return Py_IS_TYPE(o, memory_format_type); }
MemoryFormat to_memory_format(PyObject* o);
bool is_generator(PyObject* o);
const Generator& to_generator(PyObject* o);

// Each adds its type and constants to the module; false with a Python error pending.
bool init_dtype_type(PyObject* module);
bool init_device_type(PyObject* module);
bool init_layout_types(PyObject* module);
bool init_generator_type(PyObject* module);
bool init_size_type(PyObject* module);

}  // namespace taeda::python
