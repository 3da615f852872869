// The OpOverload objects of taeda.ops and the operators they stand for.
#pragma once

#include "python/interop/python.h"

#include "taeda/dispatch/operator.h"

namespace taeda::python {

// The object that taeda.ops gives for the operator; borrowed, kept for the life of the process.
PyObject* overload_of(const dispatch::Operator& op);
// Null when the object is no OpOverload.
dispatch::Operator* operator_of_overload(PyObject* o);
// The function that taeda.library registered for an operator and a type of modes or tensors, to be
// called instead of __torch_dispatch__; borrowed, null if there is none.
PyObject* dispatch_rule(PyObject* overload, PyTypeObject* type);

}  // namespace taeda::python
