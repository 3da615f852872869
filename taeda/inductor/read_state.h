// A tensor in the state in which it was read.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::inductor {

// Other memory, or a version that counts a write since, is another state. A write that no version
// counts is not seen.
struct ReadState {
  Tensor tensor;
  const void* data = nullptr;
  uint32_t version = 0;

  ReadState() = default;
  explicit ReadState(const Tensor& t) : tensor(t), data(t.data()), version(t.version()) {}
  bool is_of(const Tensor& t) const {
    return tensor.defined() && t.impl() == tensor.impl() && t.data() == data &&
           t.version() == version;
  }
};

}  // namespace taeda::inductor
