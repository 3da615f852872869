// Stretches of a dataset for several processes.
#include "taeda/data/samplers/distributed.h"

#include <algorithm>
#include <limits>
#include <random>

#include "taeda/data/samplers/place.h"

namespace taeda::data::samplers {

DistributedRandomSampler::DistributedRandomSampler(size_t size, size_t num_replicas, size_t rank,
                                                   bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {
  DistributedRandomSampler::reset(size);
}

void DistributedRandomSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  const size_t per_process = local_sample_count();
  all_indices_.resize(num_replicas_ == 1 ? size_ : per_process * num_replicas_);
  for (size_t i = 0; i < all_indices_.size(); ++i) all_indices_[i] = i < size_ ? i : i - size_;
  std::mt19937 engine(static_cast<std::mt19937::result_type>(epoch_));
  std::shuffle(all_indices_.begin(), all_indices_.end(), engine);
  sample_index_ = rank_ * per_process;
  end_index_ = sample_index_ + per_process;
}

std::optional<std::vector<size_t>> DistributedRandomSampler::next(size_t batch_size) {
  if (sample_index_ == end_index_) return std::nullopt;
  const size_t count = std::min(batch_size, end_index_ - sample_index_);
  const size_t* first = all_indices_.data() + sample_index_;
  sample_index_ += count;
  return std::vector<size_t>(first, first + count);
}

void DistributedRandomSampler::save(serialization::OutputArchive& archive) const {
  write_place(archive, "sample_index_", sample_index_);
  write_place(archive, "epoch_", epoch_);
}

void DistributedRandomSampler::load(serialization::InputArchive& archive) {
  epoch_ = read_place(archive, "epoch_", std::numeric_limits<int64_t>::max());
  reset(size_);
  sample_index_ = read_place(archive, "sample_index_", end_index_);
}

DistributedSequentialSampler::DistributedSequentialSampler(size_t size, size_t num_replicas,
                                                           size_t rank, bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {
  DistributedSequentialSampler::reset(size);
}

void DistributedSequentialSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  sample_index_ = rank_ * local_sample_count();
  end_index_ = sample_index_ + local_sample_count();
}

std::optional<std::vector<size_t>> DistributedSequentialSampler::next(size_t batch_size) {
  if (sample_index_ == end_index_) return std::nullopt;
  std::vector<size_t> batch(std::min(batch_size, end_index_ - sample_index_));
  for (size_t& index : batch) index = sample_index_++ % size_;
  return batch;
}

void DistributedSequentialSampler::save(serialization::OutputArchive& archive) const {
  write_place(archive, "sample_index_", sample_index_);
}
void DistributedSequentialSampler::load(serialization::InputArchive& archive) {
  sample_index_ = read_place(archive, "sample_index_", end_index_);
}

}  // namespace taeda::data::samplers
