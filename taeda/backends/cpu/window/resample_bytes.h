// Images of bytes in other sizes.
#pragma once

#include <optional>
#include <vector>

#include "taeda/backends/cpu/window/resample.h"
#include "taeda/backends/cpu/window/volume.h"

namespace taeda::cpu {

// From dense planes of bytes to dense ones, in whole numbers as PyTorch computes them: rows first,
// then columns of what was rounded in between.
void resample_bytes(Filter filter, const uint8_t* from, const Volume& in, bool align_corners,
                    const std::vector<std::optional<double>>& scales, uint8_t* to,
                    const Volume& out);

}  // namespace taeda::cpu
