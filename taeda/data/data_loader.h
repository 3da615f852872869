// Data loaders: batches of a dataset, got by worker threads ahead of their use.
//
//   auto dataset = data::datasets::MNIST("./data").map(data::transforms::Stack<>());
//   auto loader = data::make_data_loader(std::move(dataset),
//                                        data::DataLoaderOptions(64).workers(2));
//   for (auto& batch : *loader) train(batch.data, batch.target);
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "taeda/base/error.h"
#include "taeda/data/batch_queue.h"
#include "taeda/data/data_loader_options.h"
#include "taeda/data/iterator.h"
#include "taeda/data/samplers/random.h"
#include "taeda/data/worker_exception.h"

namespace taeda::data {

// What loaders have in common. A loader is used by one thread, and has one pass under way at a
// time; the destructor waits for the batches that workers have begun.
template <class Dataset, class Batch, class BatchRequest>
class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  explicit DataLoaderBase(const DataLoaderOptions& options,
                          std::unique_ptr<Dataset> main_thread_dataset = nullptr)
      : options_(options),
        main_thread_dataset_(std::move(main_thread_dataset)),
        queue_(options.enforce_ordering()) {
    TAEDA_CHECK(options_.workers == 0 || options_.max_jobs > 0,
                "a loader with workers needs max_jobs of at least 1: got 0");
  }
  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;
  virtual ~DataLoaderBase() { join(); }

  // Starts a pass over the data. RuntimeError while another one is not at its end.
  Iterator<Batch> begin() {
    TAEDA_CHECK(queue_.under_way() == 0,
                "Attempted to get a new DataLoader iterator "
                "while another iterator is not yet exhausted");
    reset();
    prefetch(options_.max_jobs);
    return Iterator<Batch>([this] { return next(); });
  }
  Iterator<Batch> end() { return {}; }

  // Ends the workers. No pass may follow.
  void join() {
    if (is_joined_) return;
    queue_.drain();
    queue_.close();
    for (std::thread& worker : workers_) worker.join();
    is_joined_ = true;
  }

  const FullDataLoaderOptions& options() const noexcept { return options_; }

 protected:
  // The next request of this pass, or nothing at its end.
  virtual std::optional<BatchRequest> get_batch_request() = 0;
  virtual void reset() = 0;

  void work_on(Dataset& dataset) {
    while (auto job = queue_.next_job()) {
      try {
        queue_.finish(job->number, {dataset.get_batch(job->request), nullptr});
      } catch (...) {
        queue_.finish(job->number, {std::nullopt, std::current_exception()});
      }
    }
  }

  const FullDataLoaderOptions options_;
  std::unique_ptr<Dataset> main_thread_dataset_;
  std::vector<std::thread> workers_;

 private:
  void prefetch(size_t count) {
    if (options_.workers == 0) return;
    for (size_t i = 0; i < count; ++i) {
      auto request = get_batch_request();
      if (!request) return;
      queue_.ask(std::move(*request));
    }
  }

  std::optional<Batch> next() {
    if (options_.workers == 0) {
      auto request = get_batch_request();
      if (!request) return std::nullopt;
      return main_thread_dataset_->get_batch(*request);
    }
    while (auto result = queue_.take(options_.timeout)) {
      if (result->error) throw WorkerException(result->error);
      if (result->batch) {
        prefetch(1);
        return std::move(result->batch);
      }
    }
    return std::nullopt;
  }

  BatchQueue<BatchRequest, Batch> queue_;
  bool is_joined_ = false;
};

// Over a dataset that is asked for indices, which a sampler gives. Each worker has a copy of it.
template <class Dataset, class Sampler>
class StatelessDataLoader : public DataLoaderBase<Dataset, typename Dataset::BatchType,
                                                  typename Sampler::BatchRequestType> {
 public:
  using super =
      DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
  using typename super::BatchRequestType;

  StatelessDataLoader(Dataset dataset, Sampler sampler, const DataLoaderOptions& options)
      : super(options), sampler_(std::move(sampler)) {
    for (size_t i = 0; i < this->options_.workers; ++i) {
      this->workers_.emplace_back([this, dataset]() mutable { this->work_on(dataset); });
    }
    if (this->options_.workers == 0) {
      this->main_thread_dataset_ = std::make_unique<Dataset>(std::move(dataset));
    }
  }
  ~StatelessDataLoader() override { this->join(); }

 private:
  void reset() override { sampler_.reset(std::nullopt); }
  std::optional<BatchRequestType> get_batch_request() override {
    auto indices = sampler_.next(this->options_.batch_size);
    if (!indices || (indices->size() < this->options_.batch_size && this->options_.drop_last)) {
      return std::nullopt;
    }
    TAEDA_INTERNAL_CHECK(indices->size() > 0, "a sampler gave a batch of nothing");
    return indices;
  }

  Sampler sampler_;
};

// Over a dataset that keeps its own place. All workers ask the same one, which must allow that.
template <class Dataset>
class StatefulDataLoader : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type,
                                                 typename Dataset::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type,
                               typename Dataset::BatchRequestType>;
  using typename super::BatchRequestType;

  StatefulDataLoader(Dataset dataset, const DataLoaderOptions& options)
      : super(options, std::make_unique<Dataset>(std::move(dataset))) {
    for (size_t i = 0; i < this->options_.workers; ++i) {
      this->workers_.emplace_back([this] { this->work_on(*this->main_thread_dataset_); });
    }
  }
  ~StatefulDataLoader() override { this->join(); }

 private:
  void reset() override { this->main_thread_dataset_->reset(); }
  std::optional<BatchRequestType> get_batch_request() override { return this->options_.batch_size; }
};

template <class Dataset, class Sampler>
  requires(!Dataset::is_stateful)
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset,
                                                                        Sampler sampler,
                                                                        DataLoaderOptions options) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset),
                                                                 std::move(sampler), options);
}

// With a sampler made of the dataset's size.
template <class Sampler = samplers::RandomSampler, class Dataset>
  requires(!Dataset::is_stateful)
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(
    Dataset dataset, DataLoaderOptions options = {}) {
  const std::optional<size_t> size = dataset.size();
  TAEDA_CHECK(size.has_value(),
              "Expected the dataset to be sized in order to construct the Sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), options);
}

template <class Dataset>
  requires(Dataset::is_stateful)
std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(Dataset dataset,
                                                              DataLoaderOptions options = {}) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), options);
}

}  // namespace taeda::data
