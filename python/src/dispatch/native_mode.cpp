// The base type of modes that are written in C++.
#include "python/src/dispatch/native_mode.h"

#include <new>
#include <string>
#include <string_view>

#include "python/interop/errors.h"

namespace taeda::python {

PyTypeObject* native_mode_type = nullptr;

namespace {

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  const auto& mode = native_mode_of(self);
  if (mode && mode->peer == self) mode->peer = nullptr;
  reinterpret_cast<NativeModeObject*>(self)->value.~IntrusivePtr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {},
};
PyType_Spec spec = {"taeda._C._fx.NativeMode", sizeof(NativeModeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

PyObject* new_native_mode(PyTypeObject* type, IntrusivePtr<dispatch::Mode> mode) {
  PyObject* self = checked(type->tp_alloc(type, 0));
  mode->peer = self;
  new (&reinterpret_cast<NativeModeObject*>(self)->value)
      IntrusivePtr<dispatch::Mode>(std::move(mode));
  return self;
}

PyTypeObject* add_native_mode_type(PyObject* module, const char* name, newfunc create,
                                   PyMethodDef* methods, PyGetSetDef* properties) {
  PyType_Slot own[] = {
      {Py_tp_new, reinterpret_cast<void*>(create)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {},
  };
  PyType_Spec derived = {name, sizeof(NativeModeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, own};
  PyObject* type =
      PyType_FromSpecWithBases(&derived, reinterpret_cast<PyObject*>(native_mode_type));
  const std::string_view full(name);
  const std::string short_name(full.substr(full.rfind('.') + 1));
  if (!type || PyModule_AddObjectRef(module, short_name.c_str(), type) < 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type);
}

bool init_native_mode_type(PyObject* module) {
  native_mode_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return native_mode_type &&
         PyModule_AddObjectRef(module, "NativeMode",
                               reinterpret_cast<PyObject*>(native_mode_type)) == 0;
}

}  // namespace taeda::python
