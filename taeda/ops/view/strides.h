// Strides of views that show the same elements in the same order under other sizes.
#pragma once

#include <optional>

#include "taeda/core/symint.h"

namespace taeda {

// Those of `sizes` for memory of these old sizes and strides, if there are any. Of numbers that
// only data tells the general case is taken: they differ, and sizes are large.
TAEDA_API std::optional<SymIntVec> view_strides(SymIntList old_sizes, SymIntList old_strides,
                                                SymIntList sizes);

}  // namespace taeda
