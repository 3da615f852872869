// A dataset of chunks, such as files: threads read whole chunks ahead, and mix their examples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "taeda/base/error.h"
#include "taeda/data/datasets/chunk_buffer.h"
#include "taeda/data/datasets/stateful.h"
#include "taeda/data/samplers/random.h"
#include "taeda/nn/arg.h"

namespace taeda::data::datasets {

// What chunks there are, and how one is read. A reader has the type BatchType, the container that
// read_chunk gives; read_chunk is called from several threads at once.
template <class ExampleType_, class ChunkType_ = std::vector<ExampleType_>>
class ChunkDataReader {
 public:
  using ChunkType = ChunkType_;
  using ExampleType = ExampleType_;

  virtual ~ChunkDataReader() = default;
  virtual ChunkType read_chunk(size_t chunk_index) = 0;
  virtual size_t chunk_count() = 0;
  // Called before each pass.
  virtual void reset() = 0;
};

struct ChunkDatasetOptions {
  ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048,
                      size_t cross_chunk_shuffle_count = 1)
      : preloader_count_(preloader_count),
        batch_size_(batch_size),
        cache_size_(cache_size),
        cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
    TAEDA_CHECK(preloader_count_ > 0,
                "Preloader count is 0. At least one preloader needs to be specified.");
    TAEDA_CHECK(batch_size_ > 0, "Batch size is 0. A positive batch size needs to be specified.");
    TAEDA_CHECK(cache_size_ > 0, "Cache size is 0. A positive cache size needs to be specified.");
    TAEDA_CHECK(cache_size_ >= batch_size_,
                "Cache size is less than batch size. Cache needs to be large enough to hold at "
                "least one batch.");
    TAEDA_CHECK(cross_chunk_shuffle_count_ > 0,
                "cross_chunk_shuffle_count needs to be greater than 0.");
  }

  // Threads that read chunks.
  TAEDA_ARG(size_t, preloader_count);
  TAEDA_ARG(size_t, batch_size);
  // Examples that wait at most, before the chunk that is added last.
  TAEDA_ARG(size_t, cache_size) = 2048;
  // Chunks whose examples are mixed with each other.
  TAEDA_ARG(size_t, cross_chunk_shuffle_count) = 1;
};

// Chunks in the order of one sampler, the examples of each in that of another. Batches may be taken
// by several threads; reset, save and load are for one. With one preloader the order is that of the
// samplers alone. save keeps the chunk sampler's place: chunks that were read count as used.
template <class ChunkReader, class ChunkSampler = samplers::RandomSampler,
          class ExampleSampler = samplers::RandomSampler>
class ChunkDataset final
    : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>,
                             typename ChunkReader::BatchType, size_t> {
 public:
  using BatchType = std::optional<typename ChunkReader::BatchType>;
  using UnwrappedBatchType = typename ChunkReader::BatchType;
  using BatchRequestType = size_t;
  using ChunkSamplerType = ChunkSampler;
  using ExampleSamplerType = ExampleSampler;

  // `preprocessing_policy` changes what was read before examples are taken from it.
  ChunkDataset(ChunkReader chunk_reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler,
               ChunkDatasetOptions options,
               std::function<void(UnwrappedBatchType&)> preprocessing_policy = {})
      : chunk_reader_(std::move(chunk_reader)),
        chunk_sampler_(std::move(chunk_sampler)),
        example_sampler_(std::move(example_sampler)),
        options_(options),
        preprocessing_policy_(std::move(preprocessing_policy)) {}
  ~ChunkDataset() override { stop(); }

  BatchType get_batch(size_t batch_size) override {
    TAEDA_CHECK(buffer_ != nullptr, "Dataset needs to call reset() before calling get_batch().");
    TAEDA_CHECK(batch_size == options_.batch_size(),
                "The requested batch size does not match with the initialized batch size.\n"
                " The requested batch size is ",
                batch_size, ", while the dataset is created with batch size equal to ",
                options_.batch_size());
    return buffer_->take();
  }
  BatchType get_batch() { return get_batch(options_.batch_size()); }

  // Starts a pass, also where the last one was not taken to its end.
  void reset() override {
    stop();
    if (!std::exchange(is_loaded_, false)) {
      chunk_reader_.reset();
      chunk_sampler_.reset(chunk_reader_.chunk_count());
    }
    buffer_ = std::make_unique<Buffer>(options_.batch_size(), options_.cache_size());
    running_ = options_.preloader_count();
    for (size_t i = 0; i < options_.preloader_count(); ++i) {
      preloaders_.emplace_back([this] { preload(); });
    }
  }

  std::optional<size_t> size() const override { return std::nullopt; }
  ChunkSampler& chunk_sampler() { return chunk_sampler_; }

  void save(serialization::OutputArchive& archive) const override {
    std::lock_guard lock(mutex_);
    chunk_sampler_.save(archive);
  }
  void load(serialization::InputArchive& archive) override {
    std::lock_guard lock(mutex_);
    chunk_sampler_.reset(chunk_reader_.chunk_count());  // a place is one among these
    chunk_sampler_.load(archive);
    is_loaded_ = true;
  }

 private:
  using Buffer = ChunkBuffer<UnwrappedBatchType>;

  void preload() {
    bool has_more = true;
    while (has_more) {
      try {
        has_more = false;  // an error of the sampler ends the thread
        const auto indices = next_chunks();
        if (!indices) break;
        has_more = true;
        UnwrappedBatchType chunk = read(*indices);
        if (preprocessing_policy_) preprocessing_policy_(chunk);
        if (chunk.size() > 0) buffer_->add(std::move(chunk), example_sampler_);
      } catch (...) {
        buffer_->add_error(std::current_exception());
      }
    }
    std::lock_guard lock(mutex_);
    if (--running_ == 0) buffer_->close();
  }

  std::optional<std::vector<size_t>> next_chunks() {
    std::lock_guard lock(mutex_);
    if (is_stopped_) return std::nullopt;
    return chunk_sampler_.next(options_.cross_chunk_shuffle_count());
  }

  UnwrappedBatchType read(const std::vector<size_t>& indices) {
    UnwrappedBatchType all = chunk_reader_.read_chunk(indices.at(0));
    for (size_t i = 1; i < indices.size(); ++i) {
      UnwrappedBatchType next = chunk_reader_.read_chunk(indices[i]);
      std::move(next.begin(), next.end(), std::back_inserter(all));
    }
    return all;
  }

  // Waits for the chunks that are being read.
  void stop() {
    {
      std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    if (buffer_) buffer_->close();
    for (std::thread& preloader : preloaders_) preloader.join();
    preloaders_.clear();
    is_stopped_ = false;
  }

  ChunkReader chunk_reader_;
  ChunkSampler chunk_sampler_;
  ExampleSampler example_sampler_;
  const ChunkDatasetOptions options_;
  const std::function<void(UnwrappedBatchType&)> preprocessing_policy_;

  std::unique_ptr<Buffer> buffer_;  // that of the pass
  std::vector<std::thread> preloaders_;
  mutable std::mutex mutex_;  // guards the chunk sampler and what follows
  size_t running_ = 0;
  bool is_stopped_ = false;
  bool is_loaded_ = false;  // the sampler's place is to be kept by the next reset
};

}  // namespace taeda::data::datasets
