// Deflated bytes as they were, through the system's zlib.
#pragma once

#include <cstddef>
#include <optional>

#include "taeda/base/export.h"

namespace taeda::serialization {

// Fills `into` with exactly `size` bytes. Where the data is damaged, shorter or longer, gives how
// many of its bytes were read until then. NotImplementedError on machines without zlib.
TAEDA_API std::optional<size_t> inflate(const void* data, size_t data_size, void* into,
                                        size_t size);

}  // namespace taeda::serialization
