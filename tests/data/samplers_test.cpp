// Orders of examples, and places inside of a pass that are saved and gone on from.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "taeda/data.h"
#include "taeda/nn/serialize.h"

namespace taeda::data::samplers {
namespace {

using Indices = std::vector<size_t>;

// All indices of the rest of a pass.
template <class AnySampler>
Indices rest_of(AnySampler& sampler, size_t batch_size) {
  Indices all;
  while (auto batch = sampler.next(batch_size)) all.insert(all.end(), batch->begin(), batch->end());
  return all;
}

TEST(Samplers, SequentialGivesTheRestAtLast) {
  SequentialSampler sampler(5);
  EXPECT_EQ(sampler.next(2), (Indices{0, 1}));
  EXPECT_EQ(sampler.index(), 2u);
  EXPECT_EQ(sampler.next(8), (Indices{2, 3, 4}));
  EXPECT_EQ(sampler.next(1), std::nullopt);
  sampler.reset(2);
  EXPECT_EQ(rest_of(sampler, 1), (Indices{0, 1}));
}

TEST(Samplers, RandomIsThePermutationOfTheGenerator) {
  manual_seed(3);
  RandomSampler sampler(6, kInt);
  manual_seed(3);
  const Tensor first = randperm(6, kInt), second = randperm(6, kInt);
  for (const Tensor& expected : {first, second}) {
    const Indices indices = rest_of(sampler, 4);
    ASSERT_EQ(indices.size(), 6u);
    for (int64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(static_cast<int>(indices[i]), expected.select(0, i).item<int>());
    }
    manual_seed(3);
    randperm(6, kInt);
    sampler.reset();
  }
}

TEST(Samplers, ASavedPlaceIsGoneOnFrom) {
  std::stringstream random_file, sequential_file, stream_file;
  RandomSampler random(7), other_random(3);
  random.next(2);
  save(random, random_file);
  load(other_random, random_file);
  EXPECT_EQ(rest_of(random, 2), rest_of(other_random, 5));

  SequentialSampler sequential(7), other_sequential(7);
  sequential.next(3);
  save(sequential, sequential_file);
  load(other_sequential, sequential_file);
  EXPECT_EQ(rest_of(other_sequential, 2), (Indices{3, 4, 5, 6}));

  StreamSampler stream(5), other_stream(5);
  stream.next(4);
  save(stream, stream_file);
  load(other_stream, stream_file);
  EXPECT_EQ(other_stream.next(4)->size(), 1u);
  EXPECT_FALSE(other_stream.next(4));
}

TEST(Samplers, APlaceOfAnotherSizeIsRefused) {
  std::stringstream file;
  SequentialSampler large(9), small(2);
  large.next(5);
  save(large, file);
  EXPECT_THROW(load(small, file), Error);
}

TEST(Samplers, DistributedPartsCoverTheData) {
  for (const bool allow_duplicates : {true, false}) {
    Indices random_all, sequential_all;
    for (size_t rank = 0; rank < 3; ++rank) {
      DistributedRandomSampler random(10, 3, rank, allow_duplicates);
      DistributedSequentialSampler sequential(10, 3, rank, allow_duplicates);
      const Indices a = rest_of(random, 2), b = rest_of(sequential, 3);
      EXPECT_EQ(a.size(), allow_duplicates ? 4u : 3u);
      EXPECT_EQ(b.size(), a.size());
      random_all.insert(random_all.end(), a.begin(), a.end());
      sequential_all.insert(sequential_all.end(), b.begin(), b.end());
    }
    std::sort(random_all.begin(), random_all.end());
    std::sort(sequential_all.begin(), sequential_all.end());
    if (allow_duplicates) {
      const Indices every = {0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9};
      EXPECT_EQ(random_all, every);
      EXPECT_EQ(sequential_all, every);
    } else {
      EXPECT_EQ(random_all.size(), 9u);
      EXPECT_EQ(std::unique(random_all.begin(), random_all.end()), random_all.end());
      EXPECT_EQ(sequential_all, (Indices{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    }
  }
}

TEST(Samplers, AnEpochIsTheSeedOfADistributedOrder) {
  DistributedRandomSampler a(20), b(20);
  const Indices first = rest_of(a, 4);
  EXPECT_EQ(first, rest_of(b, 7));
  a.set_epoch(1);
  a.reset();
  EXPECT_NE(rest_of(a, 4), first);
  std::stringstream file;
  a.reset();
  a.next(6);
  save(a, file);
  load(b, file);
  EXPECT_EQ(b.epoch(), 1u);
  EXPECT_EQ(rest_of(a, 3), rest_of(b, 3));
}

}  // namespace
}  // namespace taeda::data::samplers
