// Examples in their order.
#include "taeda/data/samplers/sequential.h"

#include <algorithm>
#include <numeric>

#include "taeda/data/samplers/place.h"

namespace taeda::data::samplers {

void SequentialSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  index_ = 0;
}

std::optional<std::vector<size_t>> SequentialSampler::next(size_t batch_size) {
  if (index_ == size_) return std::nullopt;
  std::vector<size_t> batch(std::min(batch_size, size_ - index_));
  std::iota(batch.begin(), batch.end(), index_);
  index_ += batch.size();
  return batch;
}

void SequentialSampler::save(serialization::OutputArchive& archive) const {
  write_place(archive, "index", index_);
}
void SequentialSampler::load(serialization::InputArchive& archive) {
  index_ = read_place(archive, "index", size_);
}

}  // namespace taeda::data::samplers
