// Rows of optimizer steps: how they lie in memory, and the threads that run them.
#include "taeda/backends/cpu/optim_steps/step_rows.h"

#include <algorithm>

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/shares.h"

namespace taeda::cpu {

#if defined(__x86_64__)
extern const StepFns step_fns_generic, step_fns_avx2, step_fns_avx512;
const StepFns& step_fns() {
  static const StepFns* const sets[] = {&step_fns_generic, &step_fns_avx2, &step_fns_avx512};
  return *sets[isa_level()];
}
#else
extern const StepFns step_fns_neon;
const StepFns& step_fns() { return step_fns_neon; }
#endif

StepRows::StepRows(KeySet keys, Span<TensorList> columns)
    : columns_(static_cast<int>(columns.size())), rows_(columns[0].size()) {
  can_run_ = keys == (KeySet(Key::Dense) | KeySet(DeviceType::CPU));
  for (size_t i = 0; can_run_ && i < rows_.size(); ++i) can_run_ = lay_out(columns, i);
  can_run_ = can_run_ && !has_repeats();
}

bool StepRows::lay_out(Span<TensorList> columns, size_t i) {
  const Tensor& first = columns[0][i];
  if (!first.defined() || !first.impl()->is_non_overlapping_and_dense()) return false;
  Row& row = rows_[i];
  row.numel = first.numel();
  row.is_double = false;
  row.is_direct = true;
  for (int k = 0; k < columns_; ++k) {
    const Tensor& t = columns[k][i];
    if (!t.defined() || !is_floating(t.dtype()) || is_float8(t.dtype())) return false;
    if (k > 0 && (t.sizes() != first.sizes() || t.strides() != first.strides())) return false;
    row.dtypes[k] = t.dtype();
    row.at[k] = row.numel == 0 ? nullptr : static_cast<char*>(t.impl()->data());
    row.is_double |= t.dtype() == DType::Double;
  }
  const DType wanted = row.is_double ? DType::Double : DType::Float;
  for (int k = 0; k < columns_; ++k) row.is_direct &= row.dtypes[k] == wanted;
  return true;
}

// Whether a parameter stands in two rows, which then depend on each other.
bool StepRows::has_repeats() const {
  std::vector<const char*> firsts;
  firsts.reserve(rows_.size());
  for (const Row& row : rows_)
    if (row.numel > 0) firsts.push_back(row.at[0]);
  std::sort(firsts.begin(), firsts.end());
  return std::adjacent_find(firsts.begin(), firsts.end()) != firsts.end();
}

// Through tiles of the type that the step computes in, with one rounding at the end.
void StepRows::run_converted(const Row& row, int64_t first, int64_t count, StepFn step,
                             const StepNumbers& numbers) const {
  constexpr int64_t kTile = 1024;
  alignas(64) char buffers[kMaxStepOperands][kTile * sizeof(double)];
  char* tiles[kMaxStepOperands];
  const ComputeType compute = row.is_double ? ComputeType::F64 : ComputeType::F32;
  for (int64_t done = 0; done < count; done += kTile) {
    const int64_t n = std::min(kTile, count - done);
    char* memory[kMaxStepOperands];
    for (int k = 0; k < columns_; ++k) {
      const int64_t item = item_size(row.dtypes[k]);
      memory[k] = row.at[k] + (first + done) * item;
      tiles[k] = buffers[k];
      load_fn(row.dtypes[k], compute)(memory[k], Block{1, n, 0, item}, tiles[k]);
    }
    step(tiles, n, numbers);
    for (int k = 0; k < columns_; ++k)
      if (k != 1 || numbers.has_grad_scale)
        store_fn(compute, row.dtypes[k])(tiles[k], Block{1, n, 0, item_size(row.dtypes[k])},
                                         memory[k]);
  }
}

void StepRows::run(const StepFn (&step)[2], const std::vector<StepNumbers>& numbers) const {
  std::vector<int64_t> starts(rows_.size() + 1, 0);
  for (size_t i = 0; i < rows_.size(); ++i) starts[i + 1] = starts[i] + rows_[i].numel;
  for_pieces(starts, [&](size_t i, int64_t first, int64_t count) {
    const Row& row = rows_[i];
    const StepFn run = step[row.is_double];
    if (!row.is_direct) return run_converted(row, first, count, run, numbers[i]);
    const int64_t offset = first * (row.is_double ? sizeof(double) : sizeof(float));
    char* at[kMaxStepOperands];
    for (int k = 0; k < columns_; ++k) at[k] = row.at[k] + offset;
    run(at, count, numbers[i]);
  });
}

}  // namespace taeda::cpu
