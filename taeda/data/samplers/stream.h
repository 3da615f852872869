// Numbers of examples instead of indices, for datasets that give the next ones.
#pragma once

#include <cstddef>
#include <optional>

#include "taeda/data/samplers/sampler.h"

namespace taeda::data::samplers {

// A request of a kind of one's own.
struct CustomBatchRequest {
  virtual ~CustomBatchRequest() = default;
  virtual size_t size() const = 0;
};

struct BatchSize : CustomBatchRequest {
  explicit BatchSize(size_t size) : size_(size) {}
  size_t size() const noexcept override { return size_; }
  operator size_t() const noexcept { return size_; }

  size_t size_;
};

// A pass is `epoch_size` examples; its last batch may be smaller.
class TAEDA_API StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}

  void reset(std::optional<size_t> new_size = std::nullopt) override;
  std::optional<BatchSize> next(size_t batch_size) override;
  void save(serialization::OutputArchive& archive) const override;
  void load(serialization::InputArchive& archive) override;

 private:
  size_t given_ = 0;
  size_t epoch_size_;
};

}  // namespace taeda::data::samplers
