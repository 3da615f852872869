// Who holds the GIL: scopes that release or take it, and objects that any thread may drop.
#pragma once

#include "python/interop/python.h"

#include <memory>

#include "taeda/core/tensor.h"

namespace taeda::python {

// Releases the GIL for a scope when `wanted`: for work that is large or may block.
class GilRelease {
 public:
  explicit GilRelease(bool wanted = true) : state_(wanted ? PyEval_SaveThread() : nullptr) {}
  ~GilRelease() {
    if (state_) PyEval_RestoreThread(state_);
  }
  GilRelease(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};
// Whether work over this tensor takes long enough for other threads to gain by the GIL.
inline bool is_large(const Tensor& t) {
  return t.defined() && !t.impl()->has_symbolic_sizes() && t.numel() >= 32768;
}

// Holds the GIL for a scope, from any thread.
class GilHold {
 public:
  GilHold() : state_(PyGILState_Ensure()) {}
  ~GilHold() { PyGILState_Release(state_); }
  GilHold(const GilHold&) = delete;

 private:
  PyGILState_STATE state_;
};

// Shares an object among copies; dropped with the GIL held, from whatever thread.
inline std::shared_ptr<PyObject> keep_object(PyObject* object) {
  return {Py_NewRef(object), [](PyObject* o) {
            if (!Py_IsInitialized()) return;
            const GilHold gil;
            Py_DECREF(o);
          }};
}

}  // namespace taeda::python
