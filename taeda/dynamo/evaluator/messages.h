// Errors and look-ups that several instructions share, with CPython's words.
#pragma once

#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo::run {

// A local, cell or free variable without a value.
Flow raise_unbound(State& state, int slot);
// NameError with the name as attribute, for the suggestions of tracebacks.
Flow raise_name_error(PyObject* name);
// mapping[name] as a new reference, or null without an exception where it is missing; -1 raises.
int find_item(PyObject* mapping, PyObject* name, PyObject** value);

// A method of the object's type, bound; empty without an exception where there is none.
Owned special_method(PyObject* object, const char* name);

}  // namespace taeda::dynamo::run
