// Datasets: what gives examples or batches, and `map`, which puts a transform behind one.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "taeda/base/span.h"
#include "taeda/data/example.h"

namespace taeda::data::datasets {

template <class Source, class Applied>
class MapDataset;
template <class Source, class Applied>
MapDataset<Source, Applied> map(Source dataset, Applied transform);

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

// Gives a batch for a request: indices, or a size. A class `Self` derives from BatchDataset<Self>.
// A loader copies a dataset for each of its workers.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = Span<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  static constexpr bool is_stateful = is_optional<Batch>;

  virtual ~BatchDataset() = default;
  virtual Batch get_batch(BatchRequest request) = 0;
  // Nothing where it is not known.
  virtual std::optional<size_t> size() const = 0;

  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) & {
    return datasets::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

// Gives one example for an index.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;

  virtual ExampleType get(size_t index) = 0;

  std::vector<ExampleType> get_batch(Span<size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (const size_t index : indices) batch.push_back(get(index));
    return batch;
  }
};

// Asked for a number of examples, which are the next ones.
template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, size_t>;

// A dataset whose batches pass through a transform.
template <class Source, class Applied>
class MapDataset
    : public BatchDataset<
          MapDataset<Source, Applied>,
          std::conditional_t<Source::is_stateful, std::optional<typename Applied::OutputBatchType>,
                             typename Applied::OutputBatchType>,
          typename Source::BatchRequestType> {
 public:
  using DatasetType = Source;
  using TransformType = Applied;
  using BatchRequestType = typename Source::BatchRequestType;
  using OutputBatchType =
      std::conditional_t<Source::is_stateful, std::optional<typename Applied::OutputBatchType>,
                         typename Applied::OutputBatchType>;

  MapDataset(Source dataset, Applied transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType request) override {
    auto batch = dataset_.get_batch(std::move(request));
    if constexpr (Source::is_stateful) {
      if (!batch) return std::nullopt;
      return transform_.apply_batch(std::move(*batch));
    } else {
      return transform_.apply_batch(std::move(batch));
    }
  }
  std::optional<size_t> size() const override { return dataset_.size(); }
  void reset() { dataset_.reset(); }

  const Source& dataset() noexcept { return dataset_; }
  const Applied& transform() noexcept { return transform_; }

 private:
  Source dataset_;
  Applied transform_;
};

template <class Source, class Applied>
MapDataset<Source, Applied> map(Source dataset, Applied transform) {
  static_assert(
      std::is_same_v<
          std::conditional_t<Source::is_stateful, std::optional<typename Applied::InputBatchType>,
                             typename Applied::InputBatchType>,
          typename Source::BatchType>,
      "BatchType type of dataset does not match input type of transform");
  return {std::move(dataset), std::move(transform)};
}

}  // namespace taeda::data::datasets
