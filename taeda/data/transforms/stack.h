// Examples of tensors as one example, whose first dimension counts them.
#pragma once

#include <utility>
#include <vector>

#include "taeda/data/example.h"
#include "taeda/data/transforms/transform.h"
#include "taeda/ops/functions.h"

namespace taeda::data::transforms {

template <class T = Example<>>
struct Stack;

template <>
struct Stack<Example<>> : Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override {
    std::vector<Tensor> data, targets;
    data.reserve(examples.size());
    targets.reserve(examples.size());
    for (Example<>& example : examples) {
      data.push_back(std::move(example.data));
      targets.push_back(std::move(example.target));
    }
    return {stack(data), stack(targets)};
  }
};

template <>
struct Stack<TensorExample> : Collation<TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override {
    std::vector<Tensor> data;
    data.reserve(examples.size());
    for (TensorExample& example : examples) data.push_back(std::move(example.data));
    return stack(data);
  }
};

}  // namespace taeda::data::transforms
