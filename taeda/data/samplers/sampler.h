// Samplers: which examples make the next batch.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "taeda/serialization/archive.h"

namespace taeda::data::samplers {

template <class BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;

  virtual ~Sampler() = default;
  // Starts a pass, over `new_size` examples where it is given.
  virtual void reset(std::optional<size_t> new_size) = 0;
  // The request for at most `batch_size` examples; nothing at the end of a pass.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
  // The place inside of a pass, so that another process goes on there.
  virtual void save(serialization::OutputArchive& archive) const = 0;
  virtual void load(serialization::InputArchive& archive) = 0;
};

}  // namespace taeda::data::samplers
