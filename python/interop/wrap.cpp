// Numbers, texts and lists as Python objects; other types wrap where they are defined.
#include "python/interop/wrap.h"

#include "python/interop/sym_numbers.h"

namespace taeda::python {

PyObject* wrap(const Scalar& s) {
  if (s.is_symbolic()) return wrap_node(IntrusivePtr<SymNode>::share(s.node()));
  switch (s.kind()) {
    case Scalar::Kind::Bool: return wrap(s.to_bool());
    case Scalar::Kind::Float: return PyFloat_FromDouble(s.to_double());
    case Scalar::Kind::Complex: return PyComplex_FromDoubles(s.to_complex().re, s.to_complex().im);
    case Scalar::Kind::UInt: return PyLong_FromUnsignedLongLong(static_cast<uint64_t>(s.to_int()));
    default: return PyLong_FromLongLong(s.to_int());
  }
}

PyObject* wrap(const SymInt& v) {
  return v.is_symbolic() ? wrap_node(IntrusivePtr<SymNode>::share(v.node()))
                         : PyLong_FromLongLong(v.word());
}
PyObject* wrap(const IntrusivePtr<SymNode>& v) { return wrap_node(v); }

PyObject* wrap(std::string_view s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}

PyObject* wrap(const std::vector<Tensor>& tensors) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  if (!tuple) return nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = wrap(tensors[i]);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.release();
}

PyObject* wrap(IntList values) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  if (!tuple) return nullptr;
  for (size_t i = 0; i < values.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(values[i]);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.release();
}

PyObject* wrap(const IntVec& values) { return wrap(IntList(values)); }

}  // namespace taeda::python
