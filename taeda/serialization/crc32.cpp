// CRC-32 (polynomial 0xEDB88320, reflected): by the processor's instructions where it has them,
// else eight bytes per step through eight tables, as always for CRC-32C (0x82F63B78), whose files
// are small.
#include "taeda/serialization/crc32.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#  include <immintrin.h>
#elif defined(__aarch64__)
#  include <arm_acle.h>
#  include <sys/auxv.h>
#endif

namespace taeda::serialization {
namespace {

static_assert(std::endian::native == std::endian::little, "archives are written as memory has it");

using Sum = uint32_t (*)(uint32_t, const unsigned char*, size_t);
using Table = std::array<uint32_t, 256>;

// tables[k][b]: the change that byte b makes to the checksum when k more bytes follow it.
using Tables = std::array<Table, 8>;
constexpr Tables make_tables(uint32_t polynomial) {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t c = b;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? polynomial : 0);
    tables[0][b] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t c = tables[k - 1][b];
      tables[k][b] = (c >> 8) ^ tables[0][c & 0xFF];
    }
  return tables;
}
constexpr Tables kTables = make_tables(0xEDB88320u), kCastagnoliTables = make_tables(0x82F63B78u);

// All of these take and give the checksum with its bits flipped.
uint32_t through(const Tables& tables, uint32_t c, const unsigned char* p, size_t size) {
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    word ^= c;
    c = 0;
    for (size_t k = 0; k < 8; ++k) c ^= tables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; size > 0; --size, ++p) c = (c >> 8) ^ tables[0][(c ^ *p) & 0xFF];
  return c;
}
uint32_t by_tables(uint32_t c, const unsigned char* p, size_t size) {
  return through(kTables, c, p, size);
}

#if defined(__x86_64__)

// Products without carries fold 64 bytes into the next 64, then 16 into the next 16, and Barrett's
// reduction gives the remainder. The constants are powers of x modulo the polynomial.
__attribute__((target("pclmul,sse4.1"))) inline __m128i folded(__m128i x, __m128i powers,
                                                               __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, powers, 0x00);
  const __m128i high = _mm_clmulepi64_si128(x, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}
__attribute__((target("pclmul,sse4.1"))) inline __m128i load16(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

__attribute__((target("pclmul,sse4.1"))) uint32_t by_products(uint32_t c, const unsigned char* p,
                                                              size_t size) {
  if (size < 64) return by_tables(c, p, size);
  const __m128i by64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i by16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  __m128i x[4];
  for (int i = 0; i < 4; ++i) x[i] = load16(p + 16 * i);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(static_cast<int>(c)));
  for (p += 64, size -= 64; size >= 64; p += 64, size -= 64)
    for (int i = 0; i < 4; ++i) x[i] = folded(x[i], by64, load16(p + 16 * i));
  __m128i rest = x[0];
  for (int i = 1; i < 4; ++i) rest = folded(rest, by16, x[i]);
  for (; size >= 16; p += 16, size -= 16) rest = folded(rest, by16, load16(p));

  const __m128i low_halves = _mm_setr_epi32(~0, 0, ~0, 0);
  rest = _mm_xor_si128(_mm_srli_si128(rest, 8), _mm_clmulepi64_si128(rest, by16, 0x10));
  rest = _mm_xor_si128(
      _mm_srli_si128(rest, 4),
      _mm_clmulepi64_si128(_mm_and_si128(rest, low_halves), _mm_cvtsi64_si128(0x0163cd6124), 0));
  const __m128i barrett = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(rest, low_halves), barrett, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_halves), barrett, 0x00);
  c = static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(rest, quotient), 1));
  return by_tables(c, p, size);
}

Sum chosen_sum() {
  const bool has = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return has ? by_products : by_tables;
}

#elif defined(__aarch64__)

__attribute__((target("+crc"))) uint32_t by_instruction(uint32_t c, const unsigned char* p,
                                                        size_t size) {
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    c = __crc32d(c, word);
  }
  for (; size > 0; --size, ++p) c = __crc32b(c, *p);
  return c;
}

Sum chosen_sum() {
  constexpr unsigned long kHasCrc32 = 1 << 7;  // HWCAP_CRC32
  return ::getauxval(AT_HWCAP) & kHasCrc32 ? by_instruction : by_tables;
}

#else

Sum chosen_sum() { return by_tables; }

#endif

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t size) {
  static const Sum sum = chosen_sum();
  return ~sum(~crc, static_cast<const unsigned char*>(data), size);
}

uint32_t crc32c(uint32_t crc, const void* data, size_t size) {
  return ~through(kCastagnoliTables, ~crc, static_cast<const unsigned char*>(data), size);
}

}  // namespace taeda::serialization
