// taeda._C._export: exported programs for the package's Python code.
#pragma once

#include "python/interop/python.h"

#include "taeda/export/exported_program.h"

namespace taeda::python {

// A program in Python is (graph, signature, state, examples, notes, extra): a Graph, the signature
// as dicts and lists, {name: tensor}, [tensor], {name: str} and {name: bytes}.
exported::ProgramParts read_program(PyObject* const* parts);

// Of bytes, or of a str as UTF-8; zeros inside stay.
std::string bytes_of(PyObject* o);

extern PyMethodDef export_table[];

}  // namespace taeda::python
