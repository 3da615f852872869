// What extension modules need of the Python bindings: tensors and their parts as Python objects.
//
// The bindings are a module of their own, whose symbols nobody links to; an extension finds these
// functions through a capsule, with the GIL held.
#pragma once

#include <Python.h>

#include "taeda/core/tensor.h"

namespace taeda::python {

// The Python form of one C++ type. `read` wants an object that `is` said yes to, and throws where
// the value does not fit; `wrap` gives a new reference, null with a Python error pending.
template <class T>
struct PythonForm {
  bool (*is)(PyObject*);
  T (*read)(PyObject*);
  PyObject* (*wrap)(const T&);
};

struct ExtensionApi {
  static constexpr int kVersion = 3;
  int version;
  PythonForm<Tensor> tensor;  // an undefined one wraps as None
  PythonForm<DType> dtype;
  PythonForm<Device> device;
  PythonForm<Layout> layout;
  PythonForm<MemoryFormat> memory_format;
  PythonForm<Scalar> scalar;
  PythonForm<SymInt> symint;  // an int, or a symbolic one
  PythonForm<Generator> generator;
  PythonForm<Storage> storage;
  PythonForm<IntrusivePtr<SymNode>> symfloat;  // a symbolic one
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
