// SHA-256, for names that are made from contents.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "taeda/base/export.h"

namespace taeda::kernel {

TAEDA_API std::array<uint8_t, 32> sha256(std::string_view bytes);

// The digest as 64 lower-case hexadecimal digits.
TAEDA_API std::string sha256_hex(std::string_view bytes);

}  // namespace taeda::kernel
