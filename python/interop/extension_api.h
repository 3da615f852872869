// What extension modules need of the Python bindings: tensors and their parts as Python objects.
//
// The bindings are a module of their own, whose symbols nobody links to; an extension finds these
// functions through a capsule, with the GIL held.
#pragma once

#include <Python.h>

#include "taeda/core/tensor.h"

namespace taeda::python {

struct ExtensionApi {
  static constexpr int kVersion = 1;
  int version;
  bool (*is_tensor)(PyObject*);
  // The object must be a tensor.
  Tensor (*to_tensor)(PyObject*);
  // New references; null with a Python error pending. An undefined tensor is None.
  PyObject* (*wrap_tensor)(const Tensor&);
  PyObject* (*wrap_dtype)(DType);
  PyObject* (*wrap_device)(Device);
  PyObject* (*wrap_scalar)(const Scalar&);
  bool (*is_dtype)(PyObject*);
  DType (*to_dtype)(PyObject*);
  bool (*is_device)(PyObject*);
  Device (*to_device)(PyObject*);
  bool (*is_number)(PyObject*);
  Scalar (*to_scalar)(PyObject*);
  // Makes the C++ exception in flight the pending Python error; called in a catch block.
  void (*translate_exception)();
};

inline constexpr const char* kExtensionApiName = "taeda._C._extension_api";

// Imports taeda at the first call; throws Error if that fails.
inline const ExtensionApi& extension_api() {
  static const ExtensionApi* const api = [] {
    PyObject* package = PyImport_ImportModule("taeda");
    Py_XDECREF(package);
    auto* found = static_cast<const ExtensionApi*>(PyCapsule_Import(kExtensionApiName, 0));
    if (!found) {
      PyErr_Clear();
      fail(ErrorKind::Import, "taeda cannot be imported");
    }
    TAEDA_CHECK(found->version == ExtensionApi::kVersion, "this extension was built for version ",
                ExtensionApi::kVersion, " of the extension interface, taeda has ", found->version,
                "; build it again");
    return found;
  }();
  return *api;
}

}  // namespace taeda::python
