// The checksums of zip archives and of record files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "taeda/base/export.h"

namespace taeda::serialization {

// Of bytes that follow those `crc` is the checksum of; 0 for none.
TAEDA_API uint32_t crc32(uint32_t crc, const void* data, size_t size);
// The same with Castagnoli's polynomial, as files of records (TFRecord, event files) have it.
TAEDA_API uint32_t crc32c(uint32_t crc, const void* data, size_t size);

}  // namespace taeda::serialization
