// Python objects in C++, owned or borrowed, and scopes with and without the GIL.
#pragma once

#include "pybind11/casters.h"

namespace pybind11 {

// A borrowed object.
class handle {
 public:
  handle() = default;
  handle(PyObject* p) : p_(p) {}
  PyObject* ptr() const { return p_; }

 protected:
  PyObject* p_ = nullptr;
};
// An owned one.
class object : public handle {
 public:
  object() = default;
  static object steal(PyObject* p) {
    object o;
    o.p_ = p;
    return o;
  }
  static object borrow(PyObject* p) { return steal(Py_XNewRef(p)); }
  object(const object& o) : handle(Py_XNewRef(o.p_)) {}
  object(object&& o) noexcept : handle(std::exchange(o.p_, nullptr)) {}
  object& operator=(object o) {
    std::swap(p_, o.p_);
    return *this;
  }
  ~object() { Py_XDECREF(p_); }
};

class none : public object {
 public:
  none() { p_ = Py_NewRef(Py_None); }
};

class gil_scoped_release {
 public:
  gil_scoped_release() : state_(PyEval_SaveThread()) {}
  ~gil_scoped_release() { PyEval_RestoreThread(state_); }
  gil_scoped_release(const gil_scoped_release&) = delete;

 private:
  PyThreadState* state_;
};
class gil_scoped_acquire {
 public:
  gil_scoped_acquire() : state_(PyGILState_Ensure()) {}
  ~gil_scoped_acquire() { PyGILState_Release(state_); }
  gil_scoped_acquire(const gil_scoped_acquire&) = delete;

 private:
  PyGILState_STATE state_;
};

namespace detail {
template <>
struct Caster<object> {
  static std::string name() { return "object"; }
  static bool load(PyObject* o, object& out) { return out = object::borrow(o), true; }
  static PyObject* cast(const object& v) { return Py_XNewRef(v.ptr()); }
};
template <>
struct Caster<none> : Caster<object> {};
}  // namespace detail

}  // namespace pybind11
