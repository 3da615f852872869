// Sums, products, extremes and truth values over dimensions, on the CPU.
#include <limits>

#include "taeda/backends/cpu/reduce/reduce_rows.h"
#include "taeda/backends/cpu/reduction_declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

// The operators whose state is an element: sum, product, maximum, minimum.
template <class T>
struct SimpleReducer {
  using Element = T;
  using State = T;
  ReduceFns<T> functions;
  StoreFn store_one;
  bool is_mean = false;
  double divisor = 0;

  const ReduceFns<T>& fns() const { return functions; }
  T chunk(const T* p, int64_t n, int64_t) const { return functions.chunk(p, n); }
  T apply(T a, T b) const {
    functions.rows(&a, &b, 1, 1, 1);
    return a;
  }
  T identity() const { return functions.chunk(nullptr, 0); }
  void store(T value, char* const* to) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (is_mean) value = static_cast<T>(value / static_cast<T>(divisor));
    } else if constexpr (!std::is_integral_v<T>) {
      if (is_mean) {
        using R = decltype(value.re);
        value = T(value.re / static_cast<R>(divisor), value.im / static_cast<R>(divisor));
      }
    }
    store_one(reinterpret_cast<const char*>(&value), Block{1, 1, 0, 0}, to[0]);
  }
};

// Any and all: bytes 0 and 1.
struct TruthReducer {
  using Element = uint8_t;
  using State = uint8_t;
  ReduceFns<uint8_t> functions;
  StoreFn store_one;

  const ReduceFns<uint8_t>& fns() const { return functions; }
  uint8_t chunk(const uint8_t* p, int64_t n, int64_t) const { return functions.chunk(p, n); }
  uint8_t apply(uint8_t a, uint8_t b) const {
    functions.rows(&a, &b, 1, 1, 1);
    return a;
  }
  uint8_t identity() const { return functions.chunk(nullptr, 0); }
  void store(uint8_t value, char* const* to) const {
    store_one(reinterpret_cast<const char*>(&value), Block{1, 1, 0, 0}, to[0]);
  }
};

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

template <class Reducer>
void run_rows_or_runs(const Reducer& reducer, TileSource source, const Tensor& self, uint64_t bits,
                      bool keepdim, const Tensor& out) {
  // Short runs over plain memory need no iteration space.
  if (source.is_direct && out.numel() == 1 && self.numel() <= kernel::kReduceChunk &&
      self.is_contiguous()) {
    char* const to[] = {static_cast<char*>(out.data())};
    reducer.store(
        reducer.chunk(static_cast<const typename Reducer::Element*>(self.data()), self.numel(), 0),
        to);
    return;
  }
  const Tensor* const outs[] = {&out};
  const ReduceShape shape(self, bits, keepdim, outs);
  if (shape.num_outputs == 0) return;
  if (!shape.is_kept_inner()) return run_reduction(reducer, shape, source, self, outs);
  char* const to[2] = {static_cast<char*>(out.data()), nullptr};
  RowReduction<Reducer>(reducer, shape, source, static_cast<const char*>(self.data()), to).run();
}

template <class T>
const ReduceFns<T>* reduce_table() {
  const LineKernels& k = line_kernels();
  if constexpr (std::is_same_v<T, float>)
    return k.float_reduce;
  else if constexpr (std::is_same_v<T, double>)
    return k.double_reduce;
  else if constexpr (std::is_same_v<T, int64_t>)
    return k.int_reduce;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return k.uint_reduce;
  else if constexpr (std::is_same_v<T, Complex<float>>)
    return k.complex_float_reduce;
  else
    return k.complex_double_reduce;
}

template <class T>
void run_simple(ReduceOp op, ComputeType compute, TileSource source, const Tensor& self,
                uint64_t bits, bool keepdim, bool is_mean, const Tensor& out) {
  SimpleReducer<T> reducer{reduce_table<T>()[static_cast<int>(op)], store_fn(compute, out.dtype())};
  if (is_mean) {
    reducer.is_mean = true;
    reducer.divisor = 1;
    for (int64_t d = 0; d < self.dim(); ++d)
      if (bits >> d & 1) reducer.divisor *= static_cast<double>(self.sizes()[d]);
  }
  run_rows_or_runs(reducer, source, self, bits, keepdim, out);
}

// Reduces in the compute type of `common`.
void reduce(ReduceOp op, const char* name, DType common, const Tensor& self, uint64_t bits,
            bool keepdim, const Tensor& out, bool is_mean = false) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_float8(common) && !is_float8(self.dtype()), "\"", name,
                              "\" not implemented for '", is_float8(common) ? common : self.dtype(),
                              "'");
  const ComputeType compute = compute_type(common);
  const bool is_truth = common == DType::Bool && self.dtype() != DType::Bool;
  const TileSource source = is_truth ? TileSource{load_nonzero_fn(self.dtype()), false}
                                     : tile_source(self.dtype(), compute);
  switch (compute) {
    case ComputeType::F32:
      return run_simple<float>(op, compute, source, self, bits, keepdim, is_mean, out);
    case ComputeType::F64:
      return run_simple<double>(op, compute, source, self, bits, keepdim, is_mean, out);
    case ComputeType::I64:
      return run_simple<int64_t>(op, compute, source, self, bits, keepdim, is_mean, out);
    case ComputeType::U64:
      return run_simple<uint64_t>(op, compute, source, self, bits, keepdim, is_mean, out);
    default: break;
  }
  TAEDA_CHECK_NOT_IMPLEMENTED(op == ReduceOp::Sum || op == ReduceOp::Prod, "\"", name,
                              "\" not implemented for '", common, "'");
  if (compute == ComputeType::C64)
    run_simple<Complex<float>>(op, compute, source, self, bits, keepdim, is_mean, out);
  else
    run_simple<Complex<double>>(op, compute, source, self, bits, keepdim, is_mean, out);
}

void reduce_truth(bool is_all, const Tensor& self, uint64_t bits, bool keepdim, const Tensor& out) {
  const TruthReducer reducer{line_kernels().truth_reduce[is_all], store_mask_fn(out.dtype())};
  const TileSource source{load_mask_fn(self.dtype()), self.dtype() == DType::Bool};
  run_rows_or_runs(reducer, source, self, bits, keepdim, out);
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
  reduce(ReduceOp::Sum, "sum_cpu", sum_dtype(self, out), self, bits, keepdim, out);
}

void mean_dim(const Tensor& self, std::optional<IntList> dim, bool keepdim, std::optional<DType>,
              Tensor& out) {
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  reduce(ReduceOp::Sum, "mean_cpu", out.dtype(), self, bits, keepdim, out, true);
}

void prod(const Tensor& self, std::optional<DType>, Tensor& out) {
  reduce(ReduceOp::Prod, "prod_cpu", out.dtype(), self, all_dims(self), false, out);
}

void prod_dim_int(const Tensor& self, int64_t dim, bool keepdim, std::optional<DType>,
                  Tensor& out) {
  reduce(ReduceOp::Prod, "prod_cpu", out.dtype(), self, dim_bitset({dim}, self.dim(), true),
         keepdim, out);
}

void amax(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  reduce(ReduceOp::Max, "max_values_cpu", self.dtype(), self, dim_bitset(dim, self.dim(), true),
         keepdim, out);
}
void amin(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  reduce(ReduceOp::Min, "min_values_cpu", self.dtype(), self, dim_bitset(dim, self.dim(), true),
         keepdim, out);
}
void max(const Tensor& self, Tensor& out) {
  reduce(ReduceOp::Max, "max_all", self.dtype(), self, all_dims(self), false, out);
}
void min(const Tensor& self, Tensor& out) {
  reduce(ReduceOp::Min, "min_all", self.dtype(), self, all_dims(self), false, out);
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
  run_simple<int64_t>(ReduceOp::Sum, ComputeType::I64, source, self,
                      dim_bitset(dim, self.dim(), true), false, false, out);
}

}  // namespace taeda::cpu
