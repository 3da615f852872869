// Tensors as objects of Python, by the names of PyTorch's C functions.
#pragma once

#include "python/interop/extension_api.h"

#include "ATen/core_names.h"

inline bool THPVariable_Check(PyObject* object) {
  return ::taeda::python::extension_api().tensor.is(object);
}
inline at::Tensor THPVariable_Unpack(PyObject* object) {
  return ::taeda::python::extension_api().tensor.read(object);
}
// A new reference; null with an error of Python.
inline PyObject* THPVariable_Wrap(const at::Tensor& tensor) {
  return ::taeda::python::extension_api().tensor.wrap(tensor);
}
