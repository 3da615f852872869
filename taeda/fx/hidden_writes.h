// Finds writes of a custom operator that its schema does not tell, by comparing memory.
#pragma once

#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/dispatch/operator.h"
#include "taeda/dispatch/value.h"

namespace taeda::fx {

// Made before a call; copies what the schema says the operator only reads, where it lies in the
// memory of the host. Operators of the library are not watched.
class HiddenWrites {
 public:
  HiddenWrites(const dispatch::Operator& op, const dispatch::Stack& arguments);
  // RuntimeError that names the first argument whose memory changed since.
  void check_none() const;

 private:
  struct Read {
    size_t argument;
    Tensor tensor;
    std::vector<std::byte> before;
  };
  const dispatch::Operator& op_;
  std::vector<Read> read_;
};

}  // namespace taeda::fx
