// taeda._C._dynamo.
#pragma once

#include "python/interop/python.h"

#include <memory>

namespace taeda::python {

class CompiledRegions;

// The function of a callable that is compiled; null for other objects. Borrowed.
PyObject* compiled_function_of(PyObject* object);
// Whether a break in it is an error, as `fullgraph` says.
bool is_compiled_as_whole(PyObject* object);
// What a CompiledCallable compiled, or what its `versions` kept of it.
std::shared_ptr<CompiledRegions> regions_of(PyObject* object);

bool init_dynamo(PyObject* module);

}  // namespace taeda::python
