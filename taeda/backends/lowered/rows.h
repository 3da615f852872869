// Launches over rows: some dimensions are combined (or normalized) together, the others kept.
#pragma once

#include "taeda/backends/lowered/domain.h"
#include "taeda/backends/lowered/launch.h"

namespace taeda::lowered {

class Rows {
 public:
  // Bit d of `reduced`: dimension d of `sizes` belongs to the row. `strides` are those of each
  // tensor in all dimensions; a result has stride 0 along the row.
  Rows(std::string_view name, Device device, IntList sizes, uint64_t reduced,
       std::vector<IntVec> strides);

  // Adds tensor number `place` of the constructor's strides.
  int operand(const Tensor& t, int place) { return launch.operand(t, strides_[place]); }
  // The number of elements in a row.
  int64_t length() const { return length_; }
  // Few rows of many elements, which devices split.
  bool is_long() const { return is_long_; }
  // The row-major position in the row.
  Sym position(KernelBuilder& k) const;

  Launch launch;
  std::vector<int> kept, reduced;  // axes

 private:
  std::vector<IntVec> strides_;
  int64_t length_ = 1;
  bool is_long_ = false;
};

// The strides of a reduction's result in the dimensions of what is reduced.
IntVec result_strides(const Tensor& out, int64_t ndim, uint64_t reduced, bool keepdim);

}  // namespace taeda::lowered
