// The C++ types behind dtypes, as messages name them.
#pragma once

#include "taeda/core/dtype.h"

namespace taeda {

// The name PyTorch's messages use where they name the C++ type: "long int" for int64.
TAEDA_API const char* cpp_name(DType t);

}  // namespace taeda
