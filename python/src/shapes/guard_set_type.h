// taeda._C._fx.GuardSet: the conditions on a program's inputs, ready to be checked.
#pragma once

#include "python/interop/python.h"

#include "taeda/fx/shapes/shape_env.h"

namespace taeda::python {

// A new reference; `env` owns the expressions of the set.
PyObject* wrap_guard_set(fx::GuardSet set, const IntrusivePtr<fx::ShapeEnv>& env);
bool init_guard_set_type();

}  // namespace taeda::python
