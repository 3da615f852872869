// Deflated bytes as they were, through the system's zlib.
#pragma once

#include <cstddef>

#include "taeda/base/export.h"

namespace taeda::serialization {

// Fills `into` with exactly `size` bytes; RuntimeError where the data is damaged or longer, and
// NotImplementedError on machines without zlib.
TAEDA_API void inflate(const void* data, size_t data_size, void* into, size_t size);

}  // namespace taeda::serialization
