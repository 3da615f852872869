// Reads UTF-8 one character at a time.
#include "taeda/serialization/utf8.h"

#include <cstddef>
#include <cstdint>

namespace taeda::serialization {
namespace {

// Bytes that follow a first byte; -1 for bytes that start nothing.
int following(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first < 0xE0) return 1;
  if (first >= 0xE0 && first < 0xF0) return 2;
  return first >= 0xF0 && first < 0xF5 ? 3 : -1;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  for (size_t i = 0; i < bytes.size();) {
    const auto first = static_cast<unsigned char>(bytes[i++]);
    const int count = following(first);
    if (count < 0 || bytes.size() - i < static_cast<size_t>(count)) return false;
    uint32_t value = count == 0 ? first : first & (0x3F >> count);
    for (int k = 0; k < count; ++k) {
      const auto next = static_cast<unsigned char>(bytes[i++]);
      if ((next & 0xC0) != 0x80) return false;
      value = value << 6 | (next & 0x3F);
    }
    const bool is_surrogate = value >= 0xD800 && value < 0xE000;
    if (value < kSmallest[count] || value > 0x10FFFF || is_surrogate) return false;
  }
  return true;
}

}  // namespace taeda::serialization
