// The Mersenne twister MT19937 as PyTorch's CPU generator runs it: words one after the other, and
// the second of two normal numbers kept for the next call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "taeda/base/export.h"
#include "taeda/base/span.h"

namespace taeda {

// Not thread-safe: GeneratorImpl's lock guards the one it holds.
class TAEDA_API MersenneTwister {
 public:
  // The layout of PyTorch's state, which the two libraries may exchange.
  static constexpr size_t kStateBytes = 5056;

  explicit MersenneTwister(uint64_t seed);

  uint64_t seed() const { return seed_; }
  uint32_t random() {
    if (--left_ == 0) twist();
    uint32_t y = state_[next_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  // The first word is the upper half.
  uint64_t random64() {
    const uint64_t high = random();
    return high << 32 | random();
  }
  // In [0, 1): 24 bits of one word, or 53 of two.
  float uniform_float() { return static_cast<float>(random() & 0xffffffu) * 0x1p-24f; }
  double uniform_double() {
    return static_cast<double>(random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
  }
  // Box-Muller: two numbers per pair of uniform ones, the second is kept.
  double normal();

  std::vector<uint8_t> state() const;
  // Throws a RuntimeError unless `state` has kStateBytes bytes that a twister can have.
  void set_state(Span<uint8_t> state);

 private:
  static constexpr uint32_t kWords = 624, kMiddle = 397;

  void twist();

  uint64_t seed_;
  int32_t left_ = 1;
  uint32_t next_ = 0;
  std::array<uint32_t, kWords> state_;
  std::optional<double> kept_;
};

}  // namespace taeda
