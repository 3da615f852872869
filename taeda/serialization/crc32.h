// The checksum of zip archives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "taeda/base/export.h"

namespace taeda::serialization {

// Of bytes that follow those `crc` is the checksum of; 0 for none.
TAEDA_API uint32_t crc32(uint32_t crc, const void* data, size_t size);

}  // namespace taeda::serialization
