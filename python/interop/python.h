// Python's C API with the settings every file of the bindings shares, and owned references.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace taeda::python {

// Owns one reference. Needs the GIL.
class Ref {
 public:
  Ref() = default;
  // Takes over a new reference; null (an error is pending) is allowed.
  explicit Ref(PyObject* stolen) : p_(stolen) {}
  static Ref share(PyObject* borrowed) { return Ref(Py_XNewRef(borrowed)); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

template <class T>
PyCFunction as_function(T* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

}  // namespace taeda::python
