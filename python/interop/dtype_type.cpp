// taeda.dtype: one object per element type, under all of PyTorch's names.
#include "python/interop/types.h"

#include <string>

#include "python/interop/wrap.h"

namespace taeda::python {

PyTypeObject* dtype_type = nullptr;

namespace {

struct DTypeObject {
  PyObject_HEAD DType value;
};

PyObject* objects[kNumDTypes];

DType dtype_of(PyObject* o) { return reinterpret_cast<DTypeObject*>(o)->value; }

std::string full_name(PyObject* o) { return "torch." + std::string(dtype_name(dtype_of(o))); }

PyObject* dtype_repr(PyObject* self) { return wrap(full_name(self)); }
PyObject* dtype_reduce(PyObject* self, PyObject*) { return wrap(dtype_name(dtype_of(self))); }

PyObject* get_itemsize(PyObject* self, void*) { return wrap(item_size(dtype_of(self))); }
PyObject* get_is_floating_point(PyObject* self, void*) { return wrap(is_floating(dtype_of(self))); }
PyObject* get_is_complex(PyObject* self, void*) { return wrap(is_complex(dtype_of(self))); }
PyObject* get_is_signed(PyObject* self, void*) {
  const DType t = dtype_of(self);
  return wrap(!is_unsigned(t) && t != DType::Bool);
}
PyObject* to_real_method(PyObject* self, PyObject*) { return wrap(to_real(dtype_of(self))); }
PyObject* to_complex_method(PyObject* self, PyObject*) {
  if (const DType t = dtype_of(self); is_integral(t, true)) {
    PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s",
                 std::string(dtype_long_name(t)).c_str());
    return nullptr;
  }
  return wrap(to_complex(dtype_of(self)));
}

PyGetSetDef dtype_getters[] = {
    {"itemsize", get_itemsize, nullptr, nullptr, nullptr},
    {"is_floating_point", get_is_floating_point, nullptr, nullptr, nullptr},
    {"is_complex", get_is_complex, nullptr, nullptr, nullptr},
    {"is_signed", get_is_signed, nullptr, nullptr, nullptr},
    {},
};
PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {"to_real", to_real_method, METH_NOARGS, nullptr},
    {"to_complex", to_complex_method, METH_NOARGS, nullptr},
    {},
};
PyType_Slot dtype_slots[] = {
    {Py_tp_doc,
     const_cast<char*>(
         "The type of a tensor's elements, such as torch.float32; there is one object for each.")},
    {Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
    {Py_tp_getset, dtype_getters},
    {Py_tp_methods, dtype_methods},
    {0, nullptr},
};
PyType_Spec dtype_spec = {"taeda.dtype", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

struct Alias {
  const char* name;
  DType value;
};
constexpr Alias kAliases[] = {
    {"half", DType::Half},           {"float", DType::Float},
    {"double", DType::Double},       {"short", DType::Int16},
    {"int", DType::Int32},           {"long", DType::Int64},
    {"cfloat", DType::ComplexFloat}, {"cdouble", DType::ComplexDouble},
};

}  // namespace

PyObject* wrap(DType t) {
  return t == DType::Undefined ? Py_NewRef(Py_None) : Py_NewRef(objects[static_cast<int>(t)]);
}

bool is_dtype(PyObject* o) {
  if (Py_IS_TYPE(o, dtype_type)) return true;
  return o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
         o == reinterpret_cast<PyObject*>(&PyLong_Type) ||
         o == reinterpret_cast<PyObject*>(&PyBool_Type) ||
         o == reinterpret_cast<PyObject*>(&PyComplex_Type);
}

DType to_dtype(PyObject* o) {
  if (Py_IS_TYPE(o, dtype_type)) return dtype_of(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Double;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::ComplexDouble;
  fail(ErrorKind::Type, "expected a torch.dtype, got ", Py_TYPE(o)->tp_name);
}

bool init_dtype_type(PyObject* module) {
  dtype_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&dtype_spec));
  if (!dtype_type ||
      PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(dtype_type)) < 0)
    return false;
  for (int i = 0; i < kNumDTypes; ++i) {
    auto* o = PyObject_New(DTypeObject, dtype_type);
    if (!o) return false;
    o->value = static_cast<DType>(i);
    objects[i] = reinterpret_cast<PyObject*>(o);
    if (PyModule_AddObjectRef(module, std::string(dtype_name(o->value)).c_str(), objects[i]) < 0)
      return false;
  }
  for (const Alias& alias : kAliases)
    if (PyModule_AddObjectRef(module, alias.name, objects[static_cast<int>(alias.value)]) < 0)
      return false;
  return true;
}

}  // namespace taeda::python
