// Rows of an optimizer's step, run at once: all parameters in one parallel region, over chunks.
#pragma once

#include <vector>

#include "taeda/backends/cpu/optim_steps/steps.h"
#include "taeda/backends/cpu/pointwise/tiles.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Parameters, gradients and states of a step, as memory. They run at once where the tensors of each
// row lie alike in memory (one shape, the same dense strides) and are floats of any kind.
class StepRows {
 public:
  // `keys` are those that the call was dispatched by: any but the CPU's own forbid running at once.
  StepRows(KeySet keys, Span<TensorList> columns);

  // Whether they do; if not, nothing else may be called.
  bool can_run() const { return can_run_; }
  size_t size() const { return rows_.size(); }
  // Runs the step; `numbers` has an entry per row.
  void run(const StepFn (&step)[2], const std::vector<StepNumbers>& numbers) const;

 private:
  struct Row {
    int64_t numel;
    bool is_double, is_direct;
    char* at[kMaxStepOperands];
    DType dtypes[kMaxStepOperands];
  };
  bool lay_out(Span<TensorList> columns, size_t i);
  bool has_repeats() const;
  void run_converted(const Row& row, int64_t first, int64_t count, StepFn step,
                     const StepNumbers& numbers) const;

  int columns_;
  bool can_run_;
  std::vector<Row> rows_;
};

}  // namespace taeda::cpu
