// Attention with several heads: functions of taeda._C._nn that are no operators.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

extern PyMethodDef multi_head_attention_table[];

}  // namespace taeda::python
