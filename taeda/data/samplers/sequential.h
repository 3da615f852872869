// Every example once, from the first to the last.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "taeda/data/samplers/sampler.h"

namespace taeda::data::samplers {

class TAEDA_API SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialization::OutputArchive& archive) const override;
  void load(serialization::InputArchive& archive) override;
  size_t index() const noexcept { return index_; }

 private:
  size_t size_;
  size_t index_ = 0;
};

}  // namespace taeda::data::samplers
