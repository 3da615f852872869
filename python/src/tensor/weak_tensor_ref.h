// _C._WeakTensorRef: whether a tensor, not only its Python object, is still there.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

bool init_weak_tensor_ref_type(PyObject* module);

}  // namespace taeda::python
