// References to Python objects with an owner.
#pragma once

#include <Python.h>

namespace taeda::dynamo {

// Threads that outlive the interpreter are unwound without its lock: what they hold is left alone.
inline bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

// A reference that is released at the end of its scope.
class Owned {
 public:
  explicit Owned(PyObject* object = nullptr) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(other.release()) {}
  Owned(const Owned&) = delete;
  Owned& operator=(Owned&& other) noexcept {
    Py_XSETREF(object_, other.release());
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr && !is_finalizing()) Py_DECREF(object_);
  }

  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  PyObject* object_;
};

}  // namespace taeda::dynamo
