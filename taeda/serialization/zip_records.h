// The records of the zip format as bytes: signatures, limits, little-endian numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace taeda::serialization {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryHeader = 0x02014b50;
constexpr uint32_t kDirectoryEnd = 0x06054b50;
constexpr uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr uint32_t kDirectoryLocator64 = 0x07064b50;
constexpr uint32_t kDescriptor = 0x08074b50;

constexpr uint64_t kLocalHeaderSize = 30;
constexpr uint64_t kDirectoryHeaderSize = 46;
constexpr uint64_t kDirectoryEndSize = 22;
constexpr uint64_t kDirectoryEnd64Size = 56;
constexpr uint64_t kDirectoryLocator64Size = 20;

constexpr uint16_t kExtra64 = 1;            // the extra field with 64-bit sizes
constexpr uint16_t kExtraPadding = 0x4246;  // "FB": one that readers pass over
constexpr char kPaddingByte = 'Z';
constexpr uint32_t kLimit32 = 0xFFFFFFFF;  // "see the 64-bit field"
constexpr uint16_t kLimit16 = 0xFFFF;
constexpr uint16_t kVersion = 20, kVersion64 = 45;
constexpr uint16_t kFlagEncrypted = 1, kFlagDescriptor = 1 << 3, kFlagUtf8 = 1 << 11;
constexpr uint16_t kStored = 0, kDeflated = 8;
// 1 January 1980: archives of equal contents are equal.
constexpr uint16_t kTime = 0, kDate = (1 << 5) | 1;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
// The caller knows that the bytes are there.
template <class T>
T number_at(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace taeda::serialization
