// CRC-32 (polynomial 0xEDB88320, reflected), eight bytes per step through eight tables.
#include "taeda/serialization/crc32.h"

#include <array>
#include <bit>
#include <cstring>

namespace taeda::serialization {
namespace {

static_assert(std::endian::native == std::endian::little, "archives are written as memory has it");

using Table = std::array<uint32_t, 256>;

// tables[k][b]: the change that byte b makes to the checksum when k more bytes follow it.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t c = b;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0xEDB88320u : 0);
    tables[0][b] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t c = tables[k - 1][b];
      tables[k][b] = (c >> 8) ^ tables[0][c & 0xFF];
    }
  return tables;
}
constexpr std::array<Table, 8> kTables = make_tables();

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t size) {
  const auto* p = static_cast<const unsigned char*>(data);
  uint32_t c = ~crc;
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    word ^= c;
    c = 0;
    for (size_t k = 0; k < 8; ++k) c ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; size > 0; --size, ++p) c = (c >> 8) ^ kTables[0][(c ^ *p) & 0xFF];
  return ~c;
}

}  // namespace taeda::serialization
