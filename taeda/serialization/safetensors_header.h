// The header of a safetensors file: its JSON, read and written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "taeda/serialization/safetensors.h"

namespace taeda::serialization {

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // ranges count from the end of the header
  SafetensorsMetadata metadata;
};

// RuntimeError that names the byte for what is no such header. `file` and the byte at which the
// header starts in it are for messages.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file,
                                           uint64_t start);
// Padded to a multiple of eight bytes.
std::string safetensors_header_text(const SafetensorsHeader& header);
// Empty for a dtype that the format does not have.
std::string_view safetensors_dtype_name(DType dtype);

}  // namespace taeda::serialization
