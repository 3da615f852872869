// SHA-256 as FIPS 180-4 defines it, in portable C++.
#include "taeda/kernel/native/sha256.h"

#include <bit>
#include <cstring>

namespace taeda::kernel {
namespace {

constexpr size_t kBlock = 64;

constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<uint32_t, 8>;

void add_block(State& state, const char* block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    std::memcpy(&w[i], block + 4 * i, 4);
    w[i] = __builtin_bswap32(w[i]);
  }
  for (int i = 16; i < 64; ++i) {
    const uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3)) + w[i - 7] +
           (std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const State sum{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < sum.size(); ++i) state[i] += sum[i];
}

// The last bytes, a one bit, zeros, and the number of bits at the end of a block.
void add_end(State& state, std::string_view rest, uint64_t size) {
  char blocks[2 * kBlock] = {};
  std::memcpy(blocks, rest.data(), rest.size());
  blocks[rest.size()] = static_cast<char>(0x80);
  const size_t used = rest.size() + 9 <= kBlock ? kBlock : 2 * kBlock;
  const uint64_t bits = __builtin_bswap64(size * 8);
  std::memcpy(blocks + used - 8, &bits, 8);
  for (size_t at = 0; at < used; at += kBlock) add_block(state, blocks + at);
}

}  // namespace

std::array<uint8_t, 32> sha256(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  State state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t at = 0;
  for (; at + kBlock <= bytes.size(); at += kBlock) add_block(state, bytes.data() + at);
  add_end(state, bytes.substr(at), bytes.size());
  std::array<uint8_t, 32> digest;
  for (uint32_t& word : state) word = __builtin_bswap32(word);
  std::memcpy(digest.data(), state.data(), digest.size());
  return digest;
}

std::string sha256_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : sha256(bytes)) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace taeda::kernel
