// Method tables written by the operator generator, one per family.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

// Null-terminated lists of null-terminated arrays. The arrays are static and live for ever.
extern const PyMethodDef* const tensor_method_tables[];  // methods of Tensor
extern const PyMethodDef* const function_tables[];  // taeda._C functions, top level of the package
extern const PyMethodDef* const nn_function_tables[];       // taeda._C._nn
extern const PyMethodDef* const special_function_tables[];  // taeda._C._special
extern const PyMethodDef* const linalg_function_tables[];   // taeda._C._linalg

}  // namespace taeda::python
