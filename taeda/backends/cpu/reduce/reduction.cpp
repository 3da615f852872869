// Sums, products, extremes and truth values over dimensions, on the CPU.
#include "taeda/backends/cpu/reduce/reduce_driver.h"
#include "taeda/backends/cpu/reduction_declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

// 1 where an element is not zero.
template <class Memory>
void load_nonzero(const char* memory, const Block& b, char* tile) {
  int64_t* out = reinterpret_cast<int64_t*>(tile);
  for (int64_t r = 0; r < b.rows; ++r, memory += b.row_stride)
    for (int64_t i = 0; i < b.cols; ++i) {
      const Memory v = *reinterpret_cast<const Memory*>(memory + i * b.col_stride);
      if constexpr (std::is_arithmetic_v<Memory>)
        *out++ = v != Memory(0);
      else if constexpr (std::is_convertible_v<Memory, float>)
        *out++ = static_cast<float>(v) != 0.0f;
      else
        *out++ = v.re != 0 || v.im != 0;
    }
}
LoadFn load_nonzero_fn(DType memory) {
  return visit_dtype(memory, [](auto m) -> LoadFn { return &load_nonzero<decltype(m)>; });
}

uint64_t all_dims(const Tensor& t) { return dim_bitset({}, t.dim(), true); }

// Reductions whose states are results but for their dtype.
void run_simple(const ReduceOp& op, TileSource source, StoreFn store, const Tensor& self,
                uint64_t bits, bool keepdim, const Tensor& out) {
  const Tensor* const outs[] = {&out};
  run_reduction(op, source, self, bits, keepdim, outs,
                [&](const char* states, int64_t lines, const ReduceOutputs& to) {
                  store(states, Block{1, lines, 0, to.stride[0]}, to.at[0]);
                });
}

// Sums that are divided by the number of elements, in the type R of their parts.
template <class R>
void run_mean(ComputeType compute, TileSource source, const Tensor& self, uint64_t bits,
              bool keepdim, const Tensor& out) {
  const Tensor* const outs[] = {&out};
  const StoreFn store = store_fn(compute, out.dtype());
  const int parts = is_complex(compute_dtype(compute)) ? 2 : 1;
  double count = 1;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (bits >> d & 1) count *= static_cast<double>(self.sizes()[d]);
  run_reduction(reduce_op(ReduceKind::Sum, compute), source, self, bits, keepdim, outs,
                [&](const char* states, int64_t lines, const ReduceOutputs& to) {
                  const R* const sums = reinterpret_cast<const R*>(states);
                  R means[2 * kMaxReduceLines];
                  for (int64_t i = 0; i < lines * parts; ++i)
                    means[i] = sums[i] / static_cast<R>(count);
                  store(reinterpret_cast<const char*>(means), Block{1, lines, 0, to.stride[0]},
                        to.at[0]);
                });
}

// Where tiles of a dtype come from when `common` is computed with.
TileSource source_for(const char* name, DType common, const Tensor& self) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_float8(common) && !is_float8(self.dtype()), "\"", name,
                              "\" not implemented for '", is_float8(common) ? common : self.dtype(),
                              "'");
  const bool is_truth = common == DType::Bool && self.dtype() != DType::Bool;
  return is_truth ? TileSource{load_nonzero_fn(self.dtype()), false}
                  : tile_source(self.dtype(), compute_type(common));
}

// Reduces in the compute type of `common`.
void reduce(ReduceKind kind, const char* name, DType common, const Tensor& self, uint64_t bits,
            bool keepdim, const Tensor& out) {
  const TileSource source = source_for(name, common, self);
  const ComputeType compute = compute_type(common);
  const ReduceOp& op = reduce_op(kind, compute);
  TAEDA_CHECK_NOT_IMPLEMENTED(op.num_passes > 0, "\"", name, "\" not implemented for '", common,
                              "'");
  run_simple(op, source, store_fn(compute, out.dtype()), self, bits, keepdim, out);
}

void reduce_truth(bool is_all, const Tensor& self, uint64_t bits, bool keepdim, const Tensor& out) {
  const TileSource source{load_mask_fn(self.dtype()), self.dtype() == DType::Bool};
  run_simple(line_kernels().truth[is_all], source, store_mask_fn(out.dtype()), self, bits, keepdim,
             out);
}

// The dtype a sum is computed in: that of its result, wider than a real result where the input is
// complex.
DType sum_dtype(const Tensor& self, const Tensor& out) {
  return self.is_complex() && !out.is_complex() && out.is_floating_point() ? to_complex(out.dtype())
                                                                           : out.dtype();
}

}  // namespace

void sum_dim_IntList(const Tensor& self, std::optional<IntList> dim, bool keepdim,
                     std::optional<DType>, Tensor& out) {
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  reduce(ReduceKind::Sum, "sum_cpu", sum_dtype(self, out), self, bits, keepdim, out);
}

void mean_dim(const Tensor& self, std::optional<IntList> dim, bool keepdim, std::optional<DType>,
              Tensor& out) {
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  const TileSource source = source_for("mean_cpu", out.dtype(), self);
  const ComputeType compute = compute_type(out.dtype());
  const auto run = compute == ComputeType::F32 || compute == ComputeType::C64 ? &run_mean<float>
                                                                              : &run_mean<double>;
  run(compute, source, self, bits, keepdim, out);
}

void prod(const Tensor& self, std::optional<DType>, Tensor& out) {
  reduce(ReduceKind::Prod, "prod_cpu", out.dtype(), self, all_dims(self), false, out);
}

void prod_dim_int(const Tensor& self, int64_t dim, bool keepdim, std::optional<DType>,
                  Tensor& out) {
  reduce(ReduceKind::Prod, "prod_cpu", out.dtype(), self, dim_bitset({dim}, self.dim(), true),
         keepdim, out);
}

void amax(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  reduce(ReduceKind::Max, "max_values_cpu", self.dtype(), self, dim_bitset(dim, self.dim(), true),
         keepdim, out);
}
void amin(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  reduce(ReduceKind::Min, "min_values_cpu", self.dtype(), self, dim_bitset(dim, self.dim(), true),
         keepdim, out);
}
void max(const Tensor& self, Tensor& out) {
  reduce(ReduceKind::Max, "max_all", self.dtype(), self, all_dims(self), false, out);
}
void min(const Tensor& self, Tensor& out) {
  reduce(ReduceKind::Min, "min_all", self.dtype(), self, all_dims(self), false, out);
}

void any(const Tensor& self, Tensor& out) { reduce_truth(false, self, all_dims(self), false, out); }
void any_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  reduce_truth(false, self, dim_bitset({dim}, self.dim(), false), keepdim, out);
}
void any_dims(const Tensor& self, std::optional<IntList> dim, bool keepdim, Tensor& out) {
  reduce_truth(false, self, dim_bitset(dim.value_or(IntList()), self.dim(), !dim), keepdim, out);
}
void all(const Tensor& self, Tensor& out) { reduce_truth(true, self, all_dims(self), false, out); }
void all_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  reduce_truth(true, self, dim_bitset({dim}, self.dim(), false), keepdim, out);
}
void all_dims(const Tensor& self, std::optional<IntList> dim, bool keepdim, Tensor& out) {
  reduce_truth(true, self, dim_bitset(dim.value_or(IntList()), self.dim(), !dim), keepdim, out);
}

void count_nonzero_dim_IntList(const Tensor& self, IntList dim, Tensor& out) {
  const TileSource source{load_nonzero_fn(self.dtype()), false};
  run_simple(reduce_op(ReduceKind::Sum, ComputeType::I64), source,
             store_fn(ComputeType::I64, out.dtype()), self, dim_bitset(dim, self.dim(), true),
             false, out);
}

}  // namespace taeda::cpu
