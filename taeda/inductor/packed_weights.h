// The frozen second operand of a product, packed for the runs of a plan.
//
// Note [Packed weights]: a product brings its second operand into panels before it multiplies.
// Where that operand is a frozen input, an attribute, or a view of one, and what it is read from is
// still the tensor of the run before in the same state (Note [Frozen inputs]), the panels of that
// run are used again. They take as much memory as the operand, twice that for the half types. Which
// products pack depends on their sizes alone: for few rows, and for small operands, none are made.
#pragma once

#include <memory>
#include <mutex>

#include "taeda/backends/cpu/gemm/packed_matrix.h"
#include "taeda/inductor/read_state.h"

namespace taeda::inductor {

// Any number of threads at once.
class PackedWeights {
 public:
  explicit PackedWeights(int memory) : memory_(memory) {}

  // Of the program, in which the operand lies.
  int memory() const { return memory_; }
  // The panels of an operand that lies in the memory of `holder`; null for a tensor whose writes
  // are not counted.
  std::shared_ptr<cpu::PackedMatrix> panels_of(const Tensor& holder) {
    if (!holder.impl()->has_version_counter()) return nullptr;
    const std::lock_guard lock(mutex_);
    if (!state_.is_of(holder)) {
      state_ = ReadState(holder);
      panels_ = std::make_shared<cpu::PackedMatrix>();
    }
    return panels_;
  }
  int64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return panels_ ? panels_->bytes() : 0;
  }

 private:
  int memory_;
  mutable std::mutex mutex_;
  ReadState state_;
  std::shared_ptr<cpu::PackedMatrix> panels_;
};

}  // namespace taeda::inductor
