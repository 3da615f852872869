// Which objects are numbers, and their values.
#include "python/interop/numbers.h"

#include <cstring>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/tensor_values.h"

namespace taeda::python {

NumpyKind numpy_scalar_kind(PyObject* o) {
  const char* name = Py_TYPE(o)->tp_name;
  if (std::strncmp(name, "numpy.", 6) != 0 || !Py_TYPE(o)->tp_as_number) return NumpyKind::None;
  name += 6;
  if (std::strncmp(name, "bool", 4) == 0) return NumpyKind::Bool;
  if (std::strncmp(name, "int", 3) == 0 || std::strncmp(name, "uint", 4) == 0 ||
      std::strcmp(name, "longlong") == 0 || std::strcmp(name, "ulonglong") == 0)
    return NumpyKind::Int;
  if (std::strncmp(name, "float", 5) == 0 || std::strcmp(name, "longdouble") == 0)
    return NumpyKind::Float;
  if (std::strncmp(name, "complex", 7) == 0) return NumpyKind::Complex;
  return NumpyKind::None;
}

bool is_number(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) return true;
  return numpy_scalar_kind(o) != NumpyKind::None || is_symbolic(o);
}

bool is_integer(PyObject* o) {
  if (PyLong_CheckExact(o)) return true;
  if (PyBool_Check(o)) return false;
  if (PyLong_Check(o)) return true;
  if (is_tensor(o)) {
    const Tensor& t = tensor_of(o);
    return t.dim() == 0 && is_integral(t.dtype()) && !t.impl()->requires_grad_flag();
  }
  return PyIndex_Check(o) && numpy_scalar_kind(o) != NumpyKind::Bool &&
         !PyObject_HasAttrString(o, "shape");
}

bool is_one_integer(PyObject* o) {
  if (!is_tensor(o)) return is_integer(o);
  const Tensor& t = tensor_of(o);
  return !t.impl()->has_symbolic_sizes() && t.numel() == 1 && is_integral(t.dtype()) &&
         !t.impl()->requires_grad_flag();
}

int64_t to_int64(PyObject* o) {
  if (PyLong_Check(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    TAEDA_CHECK_VALUE(!overflow, "Overflow when unpacking long long");
    if (v == -1 && PyErr_Occurred()) throw_python_error();
    return v;
  }
  if (is_tensor(o)) return read_item(tensor_of(o)).to_int();
  Ref index(PyNumber_Index(o));
  if (!index) throw_python_error();
  return to_int64(index.get());
}

double to_double(PyObject* o) {
  if (PyFloat_CheckExact(o)) return PyFloat_AS_DOUBLE(o);
  if (is_tensor(o)) return read_item(tensor_of(o)).to_double();
  const double v = PyFloat_AsDouble(o);
  if (v == -1.0 && PyErr_Occurred()) throw_python_error();
  return v;
}

Scalar to_scalar(PyObject* o) {
  if (PyFloat_CheckExact(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyLong_Check(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow > 0) {
      const unsigned long long u = PyLong_AsUnsignedLongLong(o);
      if (PyErr_Occurred()) throw_python_error();
      return Scalar(static_cast<uint64_t>(u));
    }
    TAEDA_CHECK_KIND(ErrorKind::Overflow, !overflow, "can't convert negative int to unsigned");
    return Scalar(static_cast<int64_t>(v));
  }
  if (PyComplex_Check(o)) {
    const Py_complex c = PyComplex_AsCComplex(o);
    return Scalar(Complex<double>(c.real, c.imag));
  }
  if (is_tensor(o)) return read_item(tensor_of(o));
  if (is_symbolic(o)) return Scalar(sym_node_of(o));
  switch (numpy_scalar_kind(o)) {
    case NumpyKind::Bool: {
      const int truth = PyObject_IsTrue(o);
      if (truth < 0) throw_python_error();
      return Scalar(truth == 1);
    }
    case NumpyKind::Int: {
      Ref index(checked(PyNumber_Index(o)));
      return to_scalar(index.get());
    }
    case NumpyKind::Complex: {
      const Py_complex c = PyComplex_AsCComplex(o);
      if (PyErr_Occurred()) throw_python_error();
      return Scalar(Complex<double>(c.real, c.imag));
    }
    default: return Scalar(to_double(o));
  }
}

}  // namespace taeda::python
