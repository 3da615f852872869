// The slices of a tensor along its first dimension, without targets.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "taeda/data/datasets/dataset.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/member_functions.h"

namespace taeda::data::datasets {

struct TensorDataset : Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(const std::vector<Tensor>& tensors) : TensorDataset(stack(tensors)) {}
  explicit TensorDataset(Tensor tensor) : tensor(std::move(tensor)) {}

  TensorExample get(size_t index) override { return tensor.select(0, static_cast<int64_t>(index)); }
  std::optional<size_t> size() const override { return static_cast<size_t>(tensor.size(0)); }

  Tensor tensor;
};

}  // namespace taeda::data::datasets
