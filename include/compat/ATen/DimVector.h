// A list with an entry per dimension.
#pragma once

#include "ATen/core_names.h"

namespace at {
using DimVector = ::taeda::IntVec;
using SymDimVector = ::taeda::SymIntVec;
}  // namespace at
