// The call of nn.Module.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

// _module_call(Module, tables): `__call__` of the class. A call goes to `forward` at once where
// the module, its class and `tables`, the hooks of all modules, ask for nothing else; it goes to
// the class's `_wrapped_call_impl` where they do.
extern PyMethodDef module_call_table[];

}  // namespace taeda::python
