// Which Python exception a C++ one becomes, and how Python's are carried.
#include "python/interop/errors.h"

#include <new>

#include "python/interop/gil.h"
#include "taeda/base/linalg_error.h"
#include "taeda/fx/shapes/shape_env.h"

namespace taeda::python {

namespace {

PyObject* data_dependent_error = nullptr;
PyObject* constraint_error = nullptr;

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

// Sets the Python error of a symbolic failure; false for errors of other kinds.
bool set_symbolic_error(const Error& e) {
  if (dynamic_cast<const fx::ConstraintViolation*>(&e)) {
    PyErr_SetString(constraint_error, e.what());
    return true;
  }
  const auto* dependent = dynamic_cast<const fx::DataDependentError*>(&e);
  if (!dependent) return false;
  const Ref error(PyObject_CallFunction(data_dependent_error, "s", e.what()));
  const Ref condition(PyUnicode_FromString(dependent->condition().c_str()));
  if (error && condition && PyObject_SetAttrString(error.get(), "cond", condition.get()) == 0)
    PyErr_SetObject(data_dependent_error, error.get());
  return true;
}

// Sets the class that Python's side keeps for factorizations; false for errors of other kinds.
bool set_linalg_error(const Error& e) {
  if (!dynamic_cast<const LinAlgError*>(&e)) return false;
  const Ref errors(PyImport_ImportModule("taeda._errors"));
  if (!errors) return true;
  const Ref type(PyObject_GetAttrString(errors.get(), "LinAlgError"));
  if (type) set_error(type.get(), e.what());
  return true;
}

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

PyObject* new_error(const char* name) {
  const std::string full = std::string("taeda.fx.experimental.symbolic_shapes.") + name;
  return PyErr_NewException(full.c_str(), PyExc_RuntimeError, nullptr);
}

}  // namespace

PyObject* wrap_message(std::string_view message) {
  return PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()),
                              "backslashreplace");
}

void set_error(PyObject* type, std::string_view message) {
  const Ref text(wrap_message(message));
  if (text) PyErr_SetObject(type, text.get());
}

void translate_exception() {
  try {
    throw;
  } catch (const PythonError& e) {
    e.restore();
  } catch (const Error& e) {
    if (set_symbolic_error(e) || set_linalg_error(e)) return;
    set_error(exception_type(e.kind()), e.message());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    set_error(PyExc_RuntimeError, e.what());
  }
}

void PythonError::restore() const {
  PyObject* value = exception_.get();
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value))), Py_NewRef(value),
                PyException_GetTraceback(value));
}

void throw_python_error() {
  Ref exception(take_exception());
  std::string message = "a Python error";
  if (Ref text(PyObject_Str(exception.get())); text)
    if (const char* utf8 = PyUnicode_AsUTF8(text.get())) message = utf8;
  PyErr_Clear();
  throw PythonError(std::move(message), keep_object(exception.get()));
}

bool init_symbolic_errors(PyObject* fx_module) {
  data_dependent_error = new_error("GuardOnDataDependentSymNode");
  constraint_error = new_error("ConstraintViolationError");
  return data_dependent_error && constraint_error &&
         PyModule_AddObjectRef(fx_module, "GuardOnDataDependentSymNode", data_dependent_error) ==
             0 &&
         PyModule_AddObjectRef(fx_module, "ConstraintViolationError", constraint_error) == 0;
}

}  // namespace taeda::python
