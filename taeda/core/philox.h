// Philox 4x32-10, the counter-based generator behind every random number of the library.
//
// Note [Random stream]: a generator is a seed and an offset. The 64-bit seed is the key; the 64-bit
// counter c selects one block of four 32-bit words, philox(seed, c). An operator that draws n
// elements reserves a run of counters from `offset`; element i in logical order uses word i % 4 of
// counter offset + i / 4, or, where it needs 64 bits, words 2j (low half) and 2j + 1 (high half) of
// counter offset + i / 2 with j = i % 2. So results depend on neither threads, vector width,
// strides nor compilation. Which element draws how many bits, and what it makes of them, is in
// backends/cpu/random_fill.h.
#pragma once

#include <array>
#include <cstdint>

namespace taeda {

inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53u;
inline constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57u;
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9u;
inline constexpr uint32_t kPhiloxWeyl1 = 0xBB67AE85u;
inline constexpr int kPhiloxRounds = 10;

using PhiloxBlock = std::array<uint32_t, 4>;

// The bijection itself: a 128-bit counter under a 64-bit key, words in little-endian order.
constexpr PhiloxBlock philox_4x32_10(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = uint64_t{kPhiloxMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kPhiloxMultiplier1} * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return counter;
}

// Block `counter` of the stream of `seed`.
constexpr PhiloxBlock philox(uint64_t seed, uint64_t counter) {
  return philox_4x32_10(
      {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
      static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

// Counters that n elements use, at one or two words per element.
constexpr int64_t philox_counters(int64_t n, int words_per_element) {
  const int64_t per_counter = 4 / words_per_element;
  return n / per_counter + (n % per_counter != 0);
}

}  // namespace taeda
