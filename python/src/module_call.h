// The call of nn.Module.
#pragma once

#include "python/interop/python.h"

#include <vector>

namespace taeda::python {

// _module_call(Module, tables): `__call__` of the class. A call goes to `forward` at once where
// the module, its class and `tables`, the hooks of all modules, ask for nothing else; it goes to
// the class's `_wrapped_call_impl` where they do.
extern PyMethodDef module_call_table[];

// Whether a call of the module is a call of `forward` and nothing else.
bool is_plain_module_call(PyObject* module);
// The tables of hooks that such a call found empty; borrowed.
void tables_of_plain_call(PyObject* module, std::vector<PyObject*>& tables);

}  // namespace taeda::python
