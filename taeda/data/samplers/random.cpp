// Random orders of examples.
#include "taeda/data/samplers/random.h"

#include <algorithm>

#include "taeda/base/error.h"
#include "taeda/data/samplers/place.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/member_functions.h"

namespace taeda::data::samplers {

RandomSampler::RandomSampler(int64_t size, DType index_dtype)
    : indices_(randperm(size, index_dtype)) {}

void RandomSampler::reset(std::optional<size_t> new_size) {
  const auto size = new_size ? static_cast<int64_t>(*new_size) : indices_.numel();
  indices_ = randperm(size, indices_.dtype());
  index_ = 0;
}

std::optional<std::vector<size_t>> RandomSampler::next(size_t batch_size) {
  const size_t left = static_cast<size_t>(indices_.numel()) - index_;
  if (left == 0) return std::nullopt;
  const size_t count = std::min(batch_size, left);
  const auto from = static_cast<int64_t>(index_);
  const Tensor batch = indices_.narrow(0, from, static_cast<int64_t>(count)).to(kLong).contiguous();
  const auto* values = batch.data_ptr<int64_t>();
  index_ += count;
  return std::vector<size_t>(values, values + count);
}

void RandomSampler::save(serialization::OutputArchive& archive) const {
  write_place(archive, "index", index_);
  archive.write("indices", indices_, /*is_buffer=*/true);
}

void RandomSampler::load(serialization::InputArchive& archive) {
  Tensor indices;
  archive.read("indices", indices, /*is_buffer=*/true);
  TAEDA_CHECK(indices.dim() == 1 && is_integral(indices.dtype(), /*include_bool=*/false),
              "the archive's indices are no list of integers");
  index_ = read_place(archive, "index", static_cast<size_t>(indices.numel()));
  indices_ = std::move(indices);
}

}  // namespace taeda::data::samplers
