// Extremes with their positions: argmax, argmin, max and min along a dimension.
#include "taeda/backends/cpu/reduce/reduce_driver.h"
#include "taeda/backends/cpu/reduction_declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

// The values, where they are wanted, then the indices.
template <class T>
void run(bool is_max, const Tensor& self, uint64_t bits, bool keepdim, Span<const Tensor*> outs) {
  const ComputeType compute = compute_type(self.dtype());
  const StoreFn store = outs.size() > 1 ? store_fn(compute, self.dtype()) : nullptr;
  run_reduction(reduce_op(is_max ? ReduceKind::ArgMax : ReduceKind::ArgMin, compute),
                tile_source(self.dtype(), compute), self, bits, keepdim, outs,
                [&](const char* states, int64_t lines, const ReduceOutputs& to) {
                  const auto* const places = reinterpret_cast<const PlaceState<T>*>(states);
                  const int last = store ? 1 : 0;
                  for (int64_t l = 0; l < lines; ++l) {
                    if (store)
                      store(reinterpret_cast<const char*>(&places[l].value), Block{1, 1, 0, 0},
                            to.at[0] + l * to.stride[0]);
                    *reinterpret_cast<int64_t*>(to.at[last] + l * to.stride[last]) =
                        places[l].index;
                  }
                });
}

void arg_reduce(bool is_max, const Tensor& self, uint64_t bits, bool keepdim,
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

}  // namespace

void argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  arg_only(true, self, dim, keepdim, out);
}
void argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  arg_only(false, self, dim, keepdim, out);
}

void max_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  const Tensor* const outs[] = {&values, &indices};
  arg_reduce(true, self, dim_bitset({dim}, self.dim(), false), keepdim, outs);
}
void min_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  const Tensor* const outs[] = {&values, &indices};
  arg_reduce(false, self, dim_bitset({dim}, self.dim(), false), keepdim, outs);
}

}  // namespace taeda::cpu
