// What this folder adds to taeda._C.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

// Each adds its type; false with a Python error pending.
bool init_file_writer_type(PyObject* module);
bool init_file_reader_type(PyObject* module);

extern PyMethodDef pickle_table[];
extern PyMethodDef storage_file_table[];
extern PyMethodDef safetensors_table[];
extern PyMethodDef archive_table[];

}  // namespace taeda::python
