// The part of a dataset that one of several processes trains on.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "taeda/data/samplers/sampler.h"

namespace taeda::data::samplers {

// Process `rank` of `num_replicas` gets as many examples as every other one: some twice where the
// size does not divide and allow_duplicates holds, else the last ones are left out.
template <class BatchRequest = std::vector<size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
 public:
  explicit DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                              bool allow_duplicates = true)
      : size_(size),
        num_replicas_(num_replicas),
        rank_(rank),
        allow_duplicates_(allow_duplicates) {}

  // The seed of the next pass's order, the same in all processes.
  void set_epoch(size_t epoch) { epoch_ = epoch; }
  size_t epoch() const { return epoch_; }

 protected:
  size_t local_sample_count() const {
    return allow_duplicates_ ? (size_ + num_replicas_ - 1) / num_replicas_ : size_ / num_replicas_;
  }

  size_t size_;
  size_t num_replicas_;
  size_t rank_;
  size_t epoch_ = 0;
  bool allow_duplicates_;
};

// A random order, the same in all processes, of which each takes its stretch.
class TAEDA_API DistributedRandomSampler : public DistributedSampler<> {
 public:
  explicit DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                                    bool allow_duplicates = true);

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialization::OutputArchive& archive) const override;
  void load(serialization::InputArchive& archive) override;
  size_t index() const noexcept { return sample_index_; }

 private:
  size_t end_index_ = 0, sample_index_ = 0;
  std::vector<size_t> all_indices_;
};

// Stretches of the dataset's own order.
class TAEDA_API DistributedSequentialSampler : public DistributedSampler<> {
 public:
  explicit DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                                        bool allow_duplicates = true);

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialization::OutputArchive& archive) const override;
  void load(serialization::InputArchive& archive) override;
  size_t index() const noexcept { return sample_index_; }

 private:
  size_t end_index_ = 0, sample_index_ = 0;
};

}  // namespace taeda::data::samplers
