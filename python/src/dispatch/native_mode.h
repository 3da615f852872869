// Dispatch modes that are written in C++, as Python objects.
#pragma once

#include "python/interop/python.h"

#include "taeda/dispatch/modes.h"

namespace taeda::python {

struct NativeModeObject {
  PyObject_HEAD IntrusivePtr<dispatch::Mode> value;
};
// taeda._C._fx.NativeMode, the base of the others.
extern PyTypeObject* native_mode_type;

inline bool is_native_mode(PyObject* o) { return PyObject_TypeCheck(o, native_mode_type); }
inline const IntrusivePtr<dispatch::Mode>& native_mode_of(PyObject* o) {
  return reinterpret_cast<NativeModeObject*>(o)->value;
}
// A new object for a mode, without the class's __init__.
PyObject* new_native_mode(PyTypeObject* type, IntrusivePtr<dispatch::Mode> mode);
// A type with that base and these methods, added to the module.
PyTypeObject* add_native_mode_type(PyObject* module, const char* name, newfunc create,
                                   PyMethodDef* methods, PyGetSetDef* properties);
bool init_native_mode_type(PyObject* module);

}  // namespace taeda::python
