// Tests the Mersenne twister: its published number, pairs of normal numbers, states, engines.
#include "taeda/core/mersenne.h"

#include <gtest/gtest.h>

#include "taeda/core/generator.h"

namespace taeda {
namespace {

TEST(Mersenne, HasTheNumberOfTheStandard) {
  MersenneTwister twister(5489);
  for (int i = 1; i < 10000; ++i) twister.random();
  EXPECT_EQ(twister.random(), 4123659995u);
}

TEST(Mersenne, SeedsAreReadModuloTheirLowWord) {
  MersenneTwister low(7), high(7 + (uint64_t{3} << 32));
  EXPECT_EQ(low.random64(), high.random64());
  EXPECT_EQ(high.seed(), 7 + (uint64_t{3} << 32));
}

TEST(Mersenne, UniformNumbersStayBelowOne) {
  MersenneTwister twister(1);
  for (int i = 0; i < 10000; ++i) {
    const float a = twister.uniform_float();
    const double b = twister.uniform_double();
    EXPECT_TRUE(a >= 0 && a < 1 && b >= 0 && b < 1);
  }
}

TEST(Mersenne, StatesKeepTheSecondNormalNumber) {
  MersenneTwister a(3), b(4);
  a.normal();
  b.set_state(a.state());
  EXPECT_EQ(a.state().size(), MersenneTwister::kStateBytes);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a.normal(), b.normal());
}

TEST(Mersenne, RefusesAStateThatNoTwisterHas) {
  MersenneTwister twister(3);
  std::vector<uint8_t> state = twister.state();
  state[8] = 0;  // no word is left before the next turn
  EXPECT_THROW(twister.set_state(state), Error);
  state.pop_back();
  EXPECT_THROW(twister.set_state(state), Error);
}

TEST(Mersenne, AStateTellsAGeneratorItsEngine) {
  Generator twister{Device(DeviceType::CPU)}, other{Device(DeviceType::CPU)};
  EXPECT_EQ(twister.impl().engine(), RandomEngine::Philox);
  twister.manual_seed(9);
  twister.impl().set_engine(RandomEngine::Mersenne);
  const GeneratorImpl::State philox = other.get_state();
  other.set_state(twister.get_state());
  EXPECT_EQ(other.impl().engine(), RandomEngine::Mersenne);
  EXPECT_EQ(other.initial_seed(), 9u);
  EXPECT_EQ(other.impl().serial().twister->random(), twister.impl().serial().twister->random());
  other.set_state(philox);
  EXPECT_EQ(other.impl().engine(), RandomEngine::Philox);
}

TEST(Mersenne, DrawsOnTheCpuAlone) {
  Generator device(Device(DeviceType::CUDA, 0));
  EXPECT_THROW(device.impl().set_engine(RandomEngine::Mersenne), Error);
}

TEST(Mersenne, GivesAStreamOfItsOwnPerReservation) {
  Generator generator{Device(DeviceType::CPU)};
  generator.impl().set_engine(RandomEngine::Mersenne);
  const PhiloxRange a = generator.reserve_range(4), b = generator.reserve_range(4);
  EXPECT_NE(a.seed, b.seed);
  EXPECT_EQ(a.offset, 0u);
}

}  // namespace
}  // namespace taeda
