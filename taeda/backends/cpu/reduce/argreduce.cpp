// Extremes with their positions: argmax, argmin, max and min along a dimension.
#include <atomic>

#include "taeda/backends/cpu/reduce/reduce_driver.h"
#include "taeda/backends/cpu/reduction_declarations.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

// The values, where they are wanted, then the indices. True if a value is zero: of 0.0 and -0.0 it
// may be another than the one at its index.
template <class T>
bool run(bool is_max, const Tensor& self, uint64_t bits, bool keepdim, Span<const Tensor*> outs) {
  std::atomic<bool> has_zero{false};
  const ComputeType compute = compute_type(self.dtype());
  const StoreFn store = outs.size() > 1 ? store_fn(compute, self.dtype()) : nullptr;
  run_reduction(reduce_op(is_max ? ReduceKind::ArgMax : ReduceKind::ArgMin, compute),
                tile_source(self.dtype(), compute), self, bits, keepdim, outs,
                [&](const char* states, int64_t lines, const ReduceOutputs& to) {
                  const auto* const places = reinterpret_cast<const PlaceState<T>*>(states);
                  const int last = store ? 1 : 0;
                  bool is_zero = false;
                  for (int64_t l = 0; l < lines; ++l) {
                    is_zero |= places[l].value == T(0);
                    if (store)
                      store(reinterpret_cast<const char*>(&places[l].value), Block{1, 1, 0, 0},
                            to.at[0] + l * to.stride[0]);
                    *reinterpret_cast<int64_t*>(to.at[last] + l * to.stride[last]) =
                        places[l].index;
                  }
                  if (is_zero) has_zero.store(true, std::memory_order_relaxed);
                });
  return has_zero;
}

bool arg_reduce(bool is_max, const Tensor& self, uint64_t bits, bool keepdim,
                Span<const Tensor*> outs) {
  switch (compute_type(self.dtype())) {
    case ComputeType::F32: return run<float>(is_max, self, bits, keepdim, outs);
    case ComputeType::F64: return run<double>(is_max, self, bits, keepdim, outs);
    case ComputeType::I64: return run<int64_t>(is_max, self, bits, keepdim, outs);
    default: return run<uint64_t>(is_max, self, bits, keepdim, outs);
  }
}

void arg_only(bool is_max, const Tensor& self, std::optional<int64_t> dim, bool keepdim,
              Tensor& out) {
  const Tensor* const outs[] = {&out};
  const uint64_t bits =
      dim ? dim_bitset({*dim}, self.dim(), false) : dim_bitset({}, self.dim(), true);
  arg_reduce(is_max, self, bits, keepdim, outs);
}

void extremes(bool is_max, const Tensor& self, int64_t dim, bool keepdim, Tensor& values,
              Tensor& indices) {
  const Tensor* const outs[] = {&values, &indices};
  const bool has_zero =
      arg_reduce(is_max, self, dim_bitset({dim}, self.dim(), false), keepdim, outs);
  if (!has_zero || !is_floating(self.dtype()) || self.dim() == 0) return;
  const Tensor found = taeda::gather(self, dim, keepdim ? indices : indices.unsqueeze(dim), false);
  values.copy_(keepdim ? found : found.squeeze(dim));
}

}  // namespace

void argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  arg_only(true, self, dim, keepdim, out);
}
void argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  arg_only(false, self, dim, keepdim, out);
}

void max_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  extremes(true, self, dim, keepdim, values, indices);
}
void min_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  extremes(false, self, dim, keepdim, values, indices);
}

}  // namespace taeda::cpu
