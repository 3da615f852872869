// The OpOverload objects of taeda.ops and the operators they stand for.
#pragma once

#include "python/src/python.h"

#include "taeda/dispatch/operator.h"

namespace taeda::python {

// The object that taeda.ops gives for the operator; borrowed, kept for the life of the process.
PyObject* overload_of(const dispatch::Operator& op);
// Null when the object is no OpOverload.
dispatch::Operator* operator_of_overload(PyObject* o);

}  // namespace taeda::python
