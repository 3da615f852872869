// Seeds, words and states of the Mersenne twister.
#include "taeda/core/mersenne.h"

#include <cmath>
#include <cstring>

#include "taeda/base/error.h"

namespace taeda {
namespace {

// Places of the parts in a state; numbers are those of the machine, as PyTorch has them.
constexpr size_t kSeedAt = 0, kLeftAt = 8, kIsSeededAt = 12, kNextAt = 16, kWordsAt = 24,
                 kNormalAt = 5024, kHasNormalAt = 5040;

template <class T>
void put(std::vector<uint8_t>& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
template <class T>
T get(Span<uint8_t> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

uint32_t mixed(uint32_t upper, uint32_t lower) {
  const uint32_t word = (upper & 0x80000000u) | (lower & 0x7fffffffu);
  return (word >> 1) ^ ((lower & 1) ? 0x9908b0dfu : 0);
}

}  // namespace

MersenneTwister::MersenneTwister(uint64_t seed) : seed_(seed) {
  state_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i)
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
}

void MersenneTwister::twist() {
  for (uint32_t i = 0; i < kWords; ++i)
    state_[i] = state_[(i + kMiddle) % kWords] ^ mixed(state_[i], state_[(i + 1) % kWords]);
  left_ = static_cast<int32_t>(kWords);
  next_ = 0;
}

double MersenneTwister::normal() {
  if (kept_) {
    const double value = *kept_;
    kept_.reset();
    return value;
  }
  const double u1 = uniform_double(), u2 = uniform_double();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2)), angle = 2.0 * M_PI * u1;
  kept_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

std::vector<uint8_t> MersenneTwister::state() const {
  std::vector<uint8_t> bytes(kStateBytes);
  put(bytes, kSeedAt, seed_);
  put(bytes, kLeftAt, left_);
  put(bytes, kIsSeededAt, int32_t{1});
  put(bytes, kNextAt, uint64_t{next_});
  for (size_t i = 0; i < kWords; ++i) put(bytes, kWordsAt + 8 * i, uint64_t{state_[i]});
  put(bytes, kNormalAt, kept_.value_or(0.0));
  put(bytes, kHasNormalAt, int32_t{kept_.has_value()});
  return bytes;
}

void MersenneTwister::set_state(Span<uint8_t> state) {
  TAEDA_CHECK(state.size() == kStateBytes, "Expected a CPUGeneratorImplState of size ", kStateBytes,
              " but found the input RNG state size to be ", state.size());
  const auto left = get<int32_t>(state, kLeftAt);
  const auto next = get<uint64_t>(state, kNextAt);
  TAEDA_CHECK(get<int32_t>(state, kIsSeededAt) == 1 && left > 0 &&
                  left <= static_cast<int32_t>(kWords) && next <= kWords,
              "Invalid mt19937 state");
  seed_ = get<uint64_t>(state, kSeedAt);
  left_ = left;
  next_ = static_cast<uint32_t>(next);
  for (size_t i = 0; i < kWords; ++i)
    state_[i] = static_cast<uint32_t>(get<uint64_t>(state, kWordsAt + 8 * i));
  kept_.reset();
  if (get<int32_t>(state, kHasNormalAt)) kept_ = get<double>(state, kNormalAt);
}

}  // namespace taeda
