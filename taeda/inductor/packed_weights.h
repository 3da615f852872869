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
#include "taeda/inductor/run_layout.h"

namespace taeda::inductor {

// Any number of threads at once.
class PackedWeights {
 public:
  explicit PackedWeights(int value) : value_(value) {}

  // Of the program: the operand.
  int value() const { return value_; }
  // The panels of an operand that lies in the memory of `holder`, of which a run may read another
  // part than the one before; null for a tensor whose writes are not counted.
  std::shared_ptr<cpu::PackedMatrix> panels_of(const Tensor& holder, const TensorShape& part) {
    if (!holder.impl()->has_version_counter()) return nullptr;
    const std::lock_guard lock(mutex_);
    const bool is_same_part =
        part.offset == offset_ && part.sizes == sizes_ && part.strides == strides_;
    if (!is_same_part || !state_.is_of(holder)) {
      sizes_ = part.sizes;
      strides_ = part.strides;
      offset_ = part.offset;
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
  int value_;
  mutable std::mutex mutex_;
  IntVec sizes_, strides_;
  int64_t offset_ = 0;
  ReadState state_;
  std::shared_ptr<cpu::PackedMatrix> panels_;
};

}  // namespace taeda::inductor
