// A dataset that keeps its own place: it gives batches until it has no more.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "taeda/data/datasets/dataset.h"
#include "taeda/serialization/archive.h"

namespace taeda::data::datasets {

// `get_batch` gives nothing at the end of a pass, `reset` starts the next one. save and load keep
// the place in an archive, which makes it a value for taeda::save and taeda::load.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  virtual void reset() = 0;
  virtual void save(serialization::OutputArchive& archive) const = 0;
  virtual void load(serialization::InputArchive& archive) = 0;
};

}  // namespace taeda::data::datasets
