// taeda.device: where a tensor lives; as a context manager, where new tensors are made.
#include "python/interop/types.h"

#include <string>
#include <vector>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/wrap.h"

namespace taeda::python {

PyTypeObject* device_type = nullptr;

namespace {

struct DeviceObject {
  PyObject_HEAD Device value;
};

Device device_of(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->value; }

PyObject* make_device(PyTypeObject* type, Device value) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) reinterpret_cast<DeviceObject*>(o)->value = value;
  return o;
}

PyObject* device_create(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject *kind = nullptr, *index = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &kind,
                                   &index))
    return nullptr;
  return guarded([&]() -> PyObject* {
    TAEDA_CHECK_TYPE(is_device(kind), "device(): argument 'type' must be str or torch.device, not ",
                     Py_TYPE(kind)->tp_name);
    Device d = to_device(kind);
    if (index != Py_None) {
      TAEDA_CHECK(d.index < 0,
                  "type (string) must not include an index because index was passed explicitly: ",
                  d.text());
      const int64_t i = to_int64(index);
      TAEDA_CHECK(i >= 0 && i < 128, "Device index must not be negative");
      d.index = static_cast<int8_t>(i);
    }
    return make_device(type, d);
  });
}

PyObject* device_repr(PyObject* self) {
  const Device d = device_of(self);
  const std::string type = device_type_name(d.type);
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", type.c_str());
  return PyUnicode_FromFormat("device(type='%s', index=%d)", type.c_str(),
                              static_cast<int>(d.index));
}
PyObject* text(PyObject* self) { return wrap(device_of(self).text()); }
Py_hash_t device_hash(PyObject* self) {
  const Device d = device_of(self);
  return (static_cast<Py_hash_t>(d.type) << 8) + d.index + 1;
}
PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (!PyObject_TypeCheck(a, device_type) || !PyObject_TypeCheck(b, device_type) ||
      (op != Py_EQ && op != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  return wrap((device_of(a) == device_of(b)) == (op == Py_EQ));
}

PyObject* get_type(PyObject* self, void*) { return wrap(device_type_name(device_of(self).type)); }
PyObject* get_index(PyObject* self, void*) {
  const Device d = device_of(self);
  return d.index < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(d.index);
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("(O(s))", Py_TYPE(self), device_of(self).text().c_str());
}

// Devices that `with` blocks will restore, innermost last.
std::vector<Device>& entered() {
  static thread_local std::vector<Device> stack;
  return stack;
}
PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    entered().push_back(default_device());
    set_default_device(device_of(self));
    return Py_NewRef(self);
  });
}
PyObject* leave(PyObject*, PyObject*) {
  return guarded([&] {
    TAEDA_CHECK(!entered().empty(), "device: __exit__ without __enter__");
    set_default_device(entered().back());
    entered().pop_back();
    return Py_NewRef(Py_None);
  });
}

PyGetSetDef device_getters[] = {
    {"type", get_type, nullptr, nullptr, nullptr},
    {"index", get_index, nullptr, nullptr, nullptr},
    {},
};
PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, nullptr},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", leave, METH_VARARGS, nullptr},
    {},
};
PyType_Slot device_slots[] = {
    {Py_tp_doc, const_cast<char*>("Where a tensor lies: `device('cpu')`, `device('cuda', 1)`, "
                                  "`device('cuda:1')`. As a context it is\n"
                                  "the device of what is made inside.")},
    {Py_tp_new, reinterpret_cast<void*>(device_create)},
    {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
    {Py_tp_str, reinterpret_cast<void*>(text)},
    {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_getset, device_getters},
    {Py_tp_methods, device_methods},
    {0, nullptr},
};
PyType_Spec device_spec = {"taeda.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT,
                           device_slots};

}  // namespace

PyObject* wrap(Device d) { return make_device(device_type, d); }

bool is_device(PyObject* o) {
  return Py_IS_TYPE(o, device_type) || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o));
}

Device to_device(PyObject* o) {
  if (Py_IS_TYPE(o, device_type)) return device_of(o);
  if (PyUnicode_Check(o)) {
    const char* utf8 = PyUnicode_AsUTF8(o);
    if (!utf8) throw_python_error();
    return Device::parse(utf8);
  }
  const int64_t index = to_int64(o);
  TAEDA_CHECK(index >= 0 && index < 128, "Device index must not be negative");
  return Device(DeviceType::CUDA, static_cast<int8_t>(index));
}

bool init_device_type(PyObject* module) {
  device_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&device_spec));
  return device_type &&
         PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(device_type)) == 0;
}

}  // namespace taeda::python
