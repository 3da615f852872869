// Binds the arguments of a call to the parameters of a Python function.
#pragma once

#include <Python.h>

#include "taeda/dynamo/frames/frames.h"

namespace taeda::dynamo {

// A call: positional values, then one value per name. All are borrowed.
struct Arguments {
  PyObject* const* values = nullptr;
  Py_ssize_t positional = 0;
  PyObject* names = nullptr;  // a tuple, or null
};

// Whether an object is a plain Python function, whose calls are nothing but its frame.
bool is_plain_function(PyObject* callable);

// Fills the slots of a function's parameters, which were empty, with new references; false where
// the arguments do not fit, or with an error.
bool bind_arguments(PyFunctionObject* function, const Arguments& arguments, PyObject** slots);

// A frame for the call, with its parameters bound; `raised` tells an error (MemoryError) from
// arguments that do not fit, which CPython refuses with its own words when it makes the call.
TaedaFrame* frame_for_call(PyThreadState* thread, PyFunctionObject* function,
                           const Arguments& arguments, TaedaFrame* caller, bool& raised);

}  // namespace taeda::dynamo
