// Loaders with and without workers: order, ends of passes, errors, time limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "taeda/data.h"

namespace taeda::data {
namespace {

using std::chrono::milliseconds;

// The example i is (i, -i); the first is slow, `broken` throws.
struct Numbers : Dataset<Numbers> {
  explicit Numbers(size_t size, size_t broken = SIZE_MAX, int slow_ms = 0)
      : size_(size), broken_(broken), slow_ms_(slow_ms) {}
  Example<> get(size_t index) override {
    if (index == broken_) throw std::runtime_error("no such number");
    if (index == 0) std::this_thread::sleep_for(milliseconds(slow_ms_));
    const auto number = static_cast<double>(index);
    return {full({1}, number), full({}, -number)};
  }
  std::optional<size_t> size() const override { return size_; }

  size_t size_, broken_;
  int slow_ms_;
};

template <class Loader>
std::vector<int> firsts_of(Loader& loader) {
  std::vector<int> firsts;
  for (auto& batch : loader) firsts.push_back(batch.data.select(0, 0).template item<int>());
  return firsts;
}

auto sequential(Numbers numbers, const DataLoaderOptions& options) {
  return make_data_loader<samplers::SequentialSampler>(
      std::move(numbers).map(transforms::Stack<>()), options);
}

TEST(DataLoader, WorkersKeepTheOrder) {
  for (const size_t workers : {0, 1, 3}) {
    auto loader = sequential(Numbers(10, SIZE_MAX, 20), DataLoaderOptions(4).workers(workers));
    for (int pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(firsts_of(*loader), (std::vector<int>{0, 4, 8})) << workers << " workers";
    }
  }
}

TEST(DataLoader, BatchesStackDataAndTargets) {
  auto loader = sequential(Numbers(3), 2);
  auto iterator = loader->begin();
  EXPECT_EQ(iterator->data.size(0), 2);
  EXPECT_EQ(iterator->data.size(1), 1);
  EXPECT_EQ(iterator->target.select(0, 1).item<float>(), -1);
  ++iterator;
  EXPECT_EQ(iterator->data.size(0), 1);
  EXPECT_FALSE(iterator == loader->end());
  ++iterator;
  EXPECT_TRUE(iterator == loader->end());
  EXPECT_THROW(++iterator, Error);
  EXPECT_THROW(*iterator, Error);
  EXPECT_THROW(++loader->end(), Error);
}

TEST(DataLoader, WithoutOrderAQuickBatchComesFirst) {
  auto options = DataLoaderOptions(1).workers(2).enforce_ordering(false);
  auto loader = sequential(Numbers(4, SIZE_MAX, 300), options);
  auto firsts = firsts_of(*loader);
  EXPECT_NE(firsts.front(), 0);
  std::sort(firsts.begin(), firsts.end());
  EXPECT_EQ(firsts, (std::vector<int>{0, 1, 2, 3}));
}

TEST(DataLoader, ASmallLastBatchMayBeLeftOut) {
  auto loader = sequential(Numbers(10), DataLoaderOptions(4).drop_last(true).workers(2));
  EXPECT_EQ(firsts_of(*loader), (std::vector<int>{0, 4}));
}

TEST(DataLoader, RandomIsTheDefaultAndSeesEveryExampleOnce) {
  auto loader = make_data_loader(Numbers(6), DataLoaderOptions(1).workers(2));
  std::vector<int> seen;
  for (auto& batch : *loader) seen.push_back(batch.at(0).data.item<int>());
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(DataLoader, AnErrorOfAWorkerComesAtItsBatchAndThePassGoesOn) {
  auto loader = sequential(Numbers(6, 3), DataLoaderOptions(2).workers(2));
  auto iterator = loader->begin();
  EXPECT_EQ(iterator->data.select(0, 0).item<int>(), 0);
  try {
    ++iterator;
    FAIL() << "the broken example was read";
  } catch (const WorkerException& error) {
    EXPECT_STREQ(error.what(),
                 "Caught exception in DataLoader worker thread. Original message: no such number");
    EXPECT_THROW(std::rethrow_exception(error.original_exception), std::runtime_error);
  }
  ++iterator;
  EXPECT_EQ(iterator->data.select(0, 0).item<int>(), 4);
}

TEST(DataLoader, AnErrorWithoutWorkersIsThrownAsItIs) {
  auto loader = sequential(Numbers(2, 0), 1);
  EXPECT_THROW(*loader->begin(), std::runtime_error);
}

TEST(DataLoader, AWaitMayHaveALimit) {
  auto options = DataLoaderOptions(1).workers(1).timeout(milliseconds(10));
  auto loader = sequential(Numbers(1, SIZE_MAX, 400), options);
  try {
    *loader->begin();
    FAIL() << "the batch came at once";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "Timeout in DataLoader queue while waiting for next batch (timeout was 10 ms)");
  }
}

TEST(DataLoader, OnePassAtATime) {
  auto loader = sequential(Numbers(8), DataLoaderOptions(1).workers(1));
  auto iterator = loader->begin();
  EXPECT_THROW(loader->begin(), Error);
}

TEST(DataLoader, AnUnfinishedPassEndsWithTheLoader) {
  auto loader = sequential(Numbers(1000), DataLoaderOptions(1).workers(2).max_jobs(100));
  EXPECT_EQ(loader->options().max_jobs, 100u);
  loader->begin();
  loader.reset();
}

// Counts down from its size once per pass; all workers share it.
struct Countdown : datasets::StatefulDataset<Countdown, int> {
  explicit Countdown(int from) : from_(from) {}
  std::optional<int> get_batch(size_t) override {
    std::lock_guard lock(*mutex_);
    return left_ > 0 ? std::optional<int>(left_--) : std::nullopt;
  }
  std::optional<size_t> size() const override { return std::nullopt; }
  void reset() override { left_ = from_; }
  void save(serialization::OutputArchive&) const override {}
  void load(serialization::InputArchive&) override {}

  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  int from_, left_ = 0;
};

TEST(DataLoader, AStatefulDatasetSaysItsEnd) {
  const auto negate = transforms::BatchLambda<int>([](int x) { return -x; });
  for (const size_t workers : {0, 2}) {
    auto loader = make_data_loader(Countdown(5).map(negate), DataLoaderOptions(1).workers(workers));
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<int> seen;
      for (const int number : *loader) seen.push_back(number);
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(seen, (std::vector<int>{-5, -4, -3, -2, -1}));
    }
  }
}

struct Stream : datasets::StreamDataset<Stream, size_t> {
  size_t get_batch(size_t count) override { return count; }
  std::optional<size_t> size() const override { return std::nullopt; }
};

TEST(DataLoader, StreamsAreAskedForNumbers) {
  auto loader = make_data_loader(Stream(), samplers::StreamSampler(5), DataLoaderOptions(2));
  std::vector<size_t> sizes;
  for (const size_t size : *loader) sizes.push_back(size);
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 2, 1}));
}

struct Endless : datasets::TensorDataset {
  using datasets::TensorDataset::TensorDataset;
  std::optional<size_t> size() const override { return std::nullopt; }
};

TEST(DataLoader, ASamplerNeedsASize) { EXPECT_THROW(make_data_loader(Endless(ones({2}))), Error); }

TEST(DataLoader, ASharedDatasetIsNotCopied) {
  auto shared = datasets::make_shared_dataset<Numbers>(size_t{4});
  auto loader = make_data_loader<samplers::SequentialSampler>(shared.map(transforms::Stack<>()),
                                                              DataLoaderOptions(1).workers(2));
  shared->broken_ = 2;
  EXPECT_THROW(firsts_of(*loader), WorkerException);
}

}  // namespace
}  // namespace taeda::data
