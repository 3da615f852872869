// Functions of taeda._C that say which forms attention may take.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern PyMethodDef attention_table[];

}  // namespace taeda::python
