// Python objects for C++ results, and Python errors for C++ exceptions.
#include "python/interop/wrap.h"

#include <structmember.h>

#include <map>
#include <new>

#include "python/interop/sym_types.h"
#include "python/interop/tensor_type.h"
#include "python/interop/types.h"

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

PyObject* return_types_module() {
  static PyObject* const module = PyModule_New("taeda.return_types");
  return module;
}

// `torch.return_types.max(` and one line for each field: tensors print over several lines.
static PyObject* named_result_repr(PyObject* self) {
  std::string text = std::string(Py_TYPE(self)->tp_name) + "(\n";
  const PyMemberDef* members = Py_TYPE(self)->tp_members;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    Ref value(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
    const char* chars = value ? PyUnicode_AsUTF8(value.get()) : nullptr;
    if (!chars) return nullptr;
    if (i) text += ",\n";
    text += std::string(members[i].name) + "=" + chars;
  }
  text += ")";
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyTypeObject* named_result_type(const char* name, std::initializer_list<const char*> fields) {
  static std::map<std::string, PyTypeObject*> types;
  PyTypeObject*& type = types[name];
  if (type) return type;
  // The descriptor's strings are read again at every repr: they live as long as the type.
  auto* full_name = new std::string("torch.return_types." + std::string(name));
  auto* members = new std::vector<PyStructSequence_Field>();
  for (const char* field : fields) members->push_back({field, nullptr});
  members->push_back({nullptr, nullptr});
  PyStructSequence_Desc desc{full_name->c_str(), nullptr, members->data(),
                             static_cast<int>(fields.size())};
  PyTypeObject* fresh = PyStructSequence_NewType(&desc);
  if (fresh) fresh->tp_repr = named_result_repr;
  PyObject* module = return_types_module();
  if (!fresh || !module ||
      PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(fresh)) < 0)
    return nullptr;
  return type = fresh;
}

namespace {

PyObject* exception_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Value: return PyExc_ValueError;
    case ErrorKind::Type: return PyExc_TypeError;
    case ErrorKind::Index: return PyExc_IndexError;
    case ErrorKind::NotImplemented: return PyExc_NotImplementedError;
    case ErrorKind::Overflow: return PyExc_OverflowError;
    case ErrorKind::ZeroDivision: return PyExc_ZeroDivisionError;
    case ErrorKind::Attribute: return PyExc_AttributeError;
    case ErrorKind::Key: return PyExc_KeyError;
    case ErrorKind::Import: return PyExc_ImportError;
    case ErrorKind::Buffer: return PyExc_BufferError;
    case ErrorKind::Assertion: return PyExc_AssertionError;
    default: return PyExc_RuntimeError;
  }
}

}  // namespace

void set_error(PyObject* type, std::string_view message) {
  // Messages may quote bytes of any kind, a name in a file for one.
  const Ref text(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()),
                                      "backslashreplace"));
  if (text) PyErr_SetObject(type, text.get());
}

void translate_exception() {
  try {
    throw;
  } catch (const PythonError& e) {
    e.restore();
  } catch (const Error& e) {
    if (set_symbolic_error(e)) return;
    set_error(exception_type(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    set_error(PyExc_RuntimeError, e.what());
  }
}

namespace {

// The pending error as an exception with its traceback; nothing is pending afterwards.
PyObject* take_exception() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return value;
}

}  // namespace

void PythonError::restore() const {
  PyObject* value = exception_.get();
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value))), Py_NewRef(value),
                PyException_GetTraceback(value));
}

std::shared_ptr<PyObject> keep_object(PyObject* object) {
  return {Py_NewRef(object), [](PyObject* o) {
            if (!Py_IsInitialized()) return;
            GilHold gil;
            Py_DECREF(o);
          }};
}

void throw_python_error() {
  Ref exception(take_exception());
  std::string message = "a Python error";
  if (Ref text(PyObject_Str(exception.get())); text)
    if (const char* utf8 = PyUnicode_AsUTF8(text.get())) message = utf8;
  PyErr_Clear();
  throw PythonError(std::move(message), keep_object(exception.get()));
}

}  // namespace taeda::python
