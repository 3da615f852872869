// Fake modes as Python objects.
#pragma once

#include "python/interop/python.h"

#include "taeda/fx/fake.h"

namespace taeda::python {

// The mode's object, made anew when the one it had is gone. A new reference.
PyObject* wrap_fake_mode(const IntrusivePtr<fx::FakeMode>& mode);
// Of a FakeTensorMode; null for null.
IntrusivePtr<fx::FakeMode> read_fake_mode(PyObject* o);
bool init_fake_mode_type(PyObject* module);
bool init_tracer_type(PyObject* module);
bool init_retrace(PyObject* module);

}  // namespace taeda::python
