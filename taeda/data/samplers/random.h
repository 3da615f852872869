// Every example once, in a new random order at each pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "taeda/core/constants.h"
#include "taeda/core/tensor.h"
#include "taeda/data/samplers/sampler.h"

namespace taeda::data::samplers {

// The orders come from the default generator: one when the sampler is made, one at each reset, as
// in PyTorch. `index_dtype` is that of the kept order: kInt for half of the memory.
class TAEDA_API RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(int64_t size, DType index_dtype = kLong);

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialization::OutputArchive& archive) const override;
  void load(serialization::InputArchive& archive) override;
  size_t index() const noexcept { return index_; }

 private:
  Tensor indices_;
  size_t index_ = 0;
};

}  // namespace taeda::data::samplers
