// Datasets of chunks: every example once, in the samplers' order, through errors and broken passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "taeda/core/generator.h"
#include "taeda/data.h"
#include "taeda/nn/serialize.h"

namespace taeda::data {
namespace {

using datasets::ChunkDataReader;
using datasets::ChunkDataset;
using datasets::ChunkDatasetOptions;
using samplers::RandomSampler;
using samplers::SequentialSampler;

// Chunks of 10, 5 and 20 numbers, together those from 0 to 34.
struct NumberChunks : ChunkDataReader<int> {
  using BatchType = ChunkType;

  BatchType read_chunk(size_t index) override {
    if (static_cast<int>(index) == bad_chunk) throw std::runtime_error("chunk 1 is gone");
    static constexpr int kSizes[] = {10, 5, 20}, kStarts[] = {0, 10, 15};
    BatchType chunk(kSizes[index]);
    std::iota(chunk.begin(), chunk.end(), kStarts[index]);
    return chunk;
  }
  size_t chunk_count() override { return 3; }
  void reset() override { ++*resets; }

  int bad_chunk = -1;
  std::shared_ptr<std::atomic<int>> resets = std::make_shared<std::atomic<int>>(0);
};

template <class ChunkSampler, class ExampleSampler>
auto make_chunks(NumberChunks reader, ChunkDatasetOptions options,
                 std::function<void(std::vector<int>&)> policy = {}) {
  return datasets::make_shared_dataset<ChunkDataset<NumberChunks, ChunkSampler, ExampleSampler>>(
      std::move(reader), ChunkSampler(0), ExampleSampler(0), options, std::move(policy));
}
auto make_ordered_chunks(ChunkDatasetOptions options, NumberChunks reader = {}) {
  return make_chunks<SequentialSampler, SequentialSampler>(std::move(reader), options);
}

std::vector<int> numbers_between(int from, int to) {
  std::vector<int> numbers(to - from);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

template <class Loader>
std::vector<int> examples_of(Loader& loader, size_t batch_size) {
  std::vector<int> seen;
  bool was_short = false;
  for (const std::vector<int>& batch : loader) {
    EXPECT_FALSE(was_short) << "a short batch that is not the last";
    was_short = batch.size() < batch_size;
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  return seen;
}

std::string message_of_call(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(ChunkDataset, OneReaderKeepsTheOrder) {
  for (const size_t batch_size : {1, 4, 5, 17, 35, 40}) {
    auto dataset = make_ordered_chunks(ChunkDatasetOptions(1, batch_size, batch_size));
    auto loader = make_data_loader(dataset, DataLoaderOptions(batch_size));
    for (int pass = 0; pass < 2; ++pass)
      EXPECT_EQ(examples_of(*loader, batch_size), numbers_between(0, 35));
  }
}

TEST(ChunkDataset, SeveralReadersGiveEveryExampleOnce) {
  for (const size_t readers : {1, 2, 4}) {
    for (const size_t workers : {0, 2}) {
      auto dataset =
          make_chunks<RandomSampler, RandomSampler>({}, ChunkDatasetOptions(readers, 5, 10));
      auto loader = make_data_loader(dataset, DataLoaderOptions(5).workers(workers));
      for (int pass = 0; pass < 3; ++pass) {
        std::vector<int> seen;
        for (const std::vector<int>& batch : *loader) {
          seen.insert(seen.end(), batch.begin(), batch.end());
        }
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ(seen, numbers_between(0, 35)) << readers << " readers, " << workers << " workers";
      }
    }
  }
}

TEST(ChunkDataset, ExamplesAreMixedWithinAChunk) {
  manual_seed(0);
  auto dataset = make_chunks<SequentialSampler, RandomSampler>({}, ChunkDatasetOptions(1, 10));
  dataset.reset();
  std::vector<int> first = *dataset.get_batch(10);
  EXPECT_NE(first, numbers_between(0, 10));
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, numbers_between(0, 10));
}

TEST(ChunkDataset, ExamplesAreMixedAcrossChunks) {
  manual_seed(0);
  auto dataset =
      make_chunks<SequentialSampler, RandomSampler>({}, ChunkDatasetOptions(1, 35, 35, 3));
  dataset.reset();
  std::vector<int> all = *dataset.get_batch(35);
  EXPECT_TRUE(std::any_of(all.begin(), all.begin() + 10, [](int i) { return i >= 10; }));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, numbers_between(0, 35));
}

TEST(ChunkDataset, APolicyChangesWhatWasRead) {
  auto dataset = make_chunks<SequentialSampler, SequentialSampler>(
      {}, ChunkDatasetOptions(1, 3),
      [](std::vector<int>& chunk) { std::erase_if(chunk, [](int i) { return i % 7 != 0; }); });
  auto loader = make_data_loader(dataset, DataLoaderOptions(3));
  EXPECT_EQ(examples_of(*loader, 3), (std::vector<int>{0, 7, 14, 21, 28}));
}

TEST(ChunkDataset, AnErrorComesInItsPlaceAndThePassGoesOn) {
  NumberChunks reader;
  reader.bad_chunk = 1;
  auto dataset = make_ordered_chunks(ChunkDatasetOptions(1, 8), reader);
  dataset.reset();
  EXPECT_EQ(*dataset.get_batch(8), numbers_between(0, 8));
  EXPECT_EQ(*dataset.get_batch(8), numbers_between(8, 10));
  EXPECT_EQ(message_of_call([&] { dataset.get_batch(8); }),
            "Caught exception in DataLoader worker thread. Original message: chunk 1 is gone");
  EXPECT_EQ(*dataset.get_batch(8), numbers_between(15, 23));
  EXPECT_EQ(*dataset.get_batch(8), numbers_between(23, 31));
  EXPECT_EQ(*dataset.get_batch(8), numbers_between(31, 35));
  EXPECT_FALSE(dataset.get_batch(8).has_value());
}

TEST(ChunkDataset, ABrokenPassEndsAndTheNextIsWhole) {
  NumberChunks reader;
  auto dataset = make_ordered_chunks(ChunkDatasetOptions(2, 5, 5), reader);
  for (int i = 0; i < 20; ++i) {
    dataset.reset();
    if (i % 2) dataset.get_batch(5);
  }
  EXPECT_EQ(*reader.resets, 20);
  auto loader = make_data_loader(dataset, DataLoaderOptions(5));
  EXPECT_EQ(examples_of(*loader, 5).size(), 35);
  const auto iterator = loader->begin();  // dropped while its readers wait for room
}

TEST(ChunkDataset, APlaceIsSavedAndLoaded) {
  SequentialSampler sampler(3);
  sampler.next(2);  // two chunks are done
  std::stringstream file;
  save(sampler, file);
  auto dataset = make_ordered_chunks(ChunkDatasetOptions(1, 10));
  load(*dataset, file);
  auto loader = make_data_loader(dataset, DataLoaderOptions(10));
  EXPECT_EQ(examples_of(*loader, 10), numbers_between(15, 35));
  EXPECT_EQ(examples_of(*loader, 10), numbers_between(0, 35));  // a place is used once
  EXPECT_EQ(dataset->chunk_sampler().index(), 3);
  std::stringstream end;
  save(*dataset, end);
  SequentialSampler saved(3);
  load(saved, end);
  EXPECT_EQ(saved.index(), 3);
}

TEST(ChunkDataset, Refusals) {
  EXPECT_NE(message_of_call([] { ChunkDatasetOptions(0, 1); }).find("Preloader count is 0"),
            std::string::npos);
  EXPECT_NE(message_of_call([] { ChunkDatasetOptions(1, 0); }).find("Batch size is 0"),
            std::string::npos);
  EXPECT_NE(message_of_call([] { ChunkDatasetOptions(1, 1, 0); }).find("Cache size is 0"),
            std::string::npos);
  EXPECT_NE(message_of_call([] { ChunkDatasetOptions(1, 9, 5); }).find("less than batch size"),
            std::string::npos);
  EXPECT_NE(message_of_call([] { ChunkDatasetOptions(1, 1, 1, 0); }).find("greater than 0"),
            std::string::npos);
  auto dataset = make_ordered_chunks(ChunkDatasetOptions(1, 5));
  EXPECT_NE(message_of_call([&] { dataset.get_batch(5); }).find("needs to call reset()"),
            std::string::npos);
  dataset.reset();
  EXPECT_EQ(message_of_call([&] { dataset.get_batch(6); }).substr(0, 139),
            "The requested batch size does not match with the initialized batch size.\n"
            " The requested batch size is 6, while the dataset is created with ");
  EXPECT_FALSE(dataset.size().has_value());
}

}  // namespace
}  // namespace taeda::data
