// Numbers of examples.
#include "taeda/data/samplers/stream.h"

#include <algorithm>

#include "taeda/data/samplers/place.h"

namespace taeda::data::samplers {

void StreamSampler::reset(std::optional<size_t> new_size) {
  epoch_size_ = new_size.value_or(epoch_size_);
  given_ = 0;
}

std::optional<BatchSize> StreamSampler::next(size_t batch_size) {
  if (given_ == epoch_size_) return std::nullopt;
  const size_t count = std::min(batch_size, epoch_size_ - given_);
  given_ += count;
  return BatchSize(count);
}

void StreamSampler::save(serialization::OutputArchive& archive) const {
  write_place(archive, "examples_retrieved_so_far", given_);
}
void StreamSampler::load(serialization::InputArchive& archive) {
  given_ = read_place(archive, "examples_retrieved_so_far", epoch_size_);
}

}  // namespace taeda::data::samplers
