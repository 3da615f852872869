// Philox against published vectors, and what generators promise about seeds, offsets and states.
#include "taeda/core/generator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace taeda {
namespace {

// Random123's known answers for philox4x32 with 10 rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox_4x32_10({0, 0, 0, 0}, 0, 0),
            (PhiloxBlock{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(philox_4x32_10({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u),
            (PhiloxBlock{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox_4x32_10({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0xa4093822u,
                           0x299f31d0u),
            (PhiloxBlock{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, SeedIsTheKeyAndTheCounterHas64Bits) {
  EXPECT_EQ(philox(0x299f31d0a4093822u, 0x85a308d3243f6a88u),
            philox_4x32_10({0x243f6a88u, 0x85a308d3u, 0, 0}, 0xa4093822u, 0x299f31d0u));
}

TEST(Philox, CountersOfElements) {
  EXPECT_EQ(philox_counters(0, 1), 0);
  EXPECT_EQ(philox_counters(4, 1), 1);
  EXPECT_EQ(philox_counters(5, 1), 2);
  EXPECT_EQ(philox_counters(5, 2), 3);
  EXPECT_EQ(philox_counters(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

TEST(Generator, ReservesDisjointRunsOfCounters) {
  Generator generator(Device(DeviceType::CPU), 7);
  EXPECT_EQ(generator.reserve_range(10).offset, 0u);
  EXPECT_EQ(generator.reserve_range(0).offset, 10u);
  const PhiloxRange range = generator.reserve_range(5);
  EXPECT_EQ(range.seed, 7u);
  EXPECT_EQ(range.offset, 10u);
  EXPECT_EQ(generator.impl().reserve(1), 15u);
  EXPECT_EQ(generator.impl().offset(), 16u);
}

TEST(Generator, ManualSeedStartsAgain) {
  Generator generator(Device(DeviceType::CPU), 7);
  generator.reserve_range(10);
  generator.manual_seed(8);
  EXPECT_EQ(generator.initial_seed(), 8u);
  EXPECT_EQ(generator.impl().offset(), 0u);
}

TEST(Generator, SeedComesFromTheSystem) {
  Generator generator{Device(DeviceType::CPU)};
  EXPECT_EQ(generator.initial_seed(), 67280421310721u);
  std::set<uint64_t> seeds;
  for (int i = 0; i < 8; ++i) {
    const uint64_t seed = generator.seed();
    EXPECT_EQ(generator.initial_seed(), seed);
    EXPECT_LT(seed, uint64_t{1} << 53);
    seeds.insert(seed);
  }
  EXPECT_EQ(seeds.size(), 8u);
}

TEST(Generator, StateRoundTrips) {
  Generator a(Device(DeviceType::CPU), 0x0123456789abcdefu);
  a.impl().set_offset(0xfedcba9876543210u);
  const GeneratorImpl::State state = a.get_state();
  EXPECT_EQ(state[0], 0xef);
  EXPECT_EQ(state[15], 0xfe);
  Generator b(Device(DeviceType::CPU), 1);
  b.set_state(state);
  EXPECT_EQ(b.initial_seed(), a.initial_seed());
  EXPECT_EQ(b.impl().offset(), a.impl().offset());
  EXPECT_NE(a, b);
  EXPECT_EQ(b, Generator(b));
}

TEST(Generator, RefusesAStateOfAnotherSize) {
  Generator generator{Device(DeviceType::CPU)};
  const std::vector<uint8_t> state(17);
  try {
    generator.set_state(state);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Runtime);
    EXPECT_EQ(error.message(), "RNG state is wrong size: got 17 bytes, expected 16");
  }
}

TEST(Generator, CloneGoesItsOwnWay) {
  Generator a(Device(DeviceType::CPU), 5);
  a.reserve_range(3);
  Generator b = a.clone();
  b.reserve_range(4);
  EXPECT_EQ(a.impl().offset(), 3u);
  EXPECT_EQ(b.impl().offset(), 7u);
  EXPECT_EQ(b.initial_seed(), 5u);
}

TEST(Generator, UndefinedMeansTheDefault) {
  EXPECT_EQ(cpu_generator_or_default(Generator()), default_cpu_generator());
  Generator own{Device(DeviceType::CPU)};
  EXPECT_EQ(cpu_generator_or_default(own), own);
  EXPECT_THROW(Generator().seed(), Error);
  try {
    cpu_generator_or_default(Generator(Device(DeviceType::CUDA, 0)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "Expected a 'cpu' device type for generator but found 'cuda'");
  }
}

TEST(Generator, TheDefaultWorksInAForkedChild) {
  std::atomic<bool> is_done{false};
  std::thread busy([&] {
    while (!is_done) default_cpu_generator().reserve_range(0);
  });
  int failures = 0;
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a child that waits for a lost lock dies
      default_cpu_generator().reserve_range(1);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    failures += status != 0;
  }
  is_done = true;
  busy.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace taeda
