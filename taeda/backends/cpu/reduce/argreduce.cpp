// Extremes with their positions: argmax, argmin, max and min along a dimension.
#include "taeda/backends/cpu/reduce/reduce_driver.h"
#include "taeda/backends/cpu/reduction_declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

template <class T>
struct Position {
  T value;
  int64_t index;
};

// The first extreme element; NaN is more extreme than any number.
template <class T>
struct ArgReducer {
  using Element = T;
  using State = Position<T>;
  bool is_max;
  ReduceFns<T> functions;
  int64_t (*find)(const T* p, int64_t n, T value);
  StoreFn store_value;  // null when only the index is wanted, which then is the first result

  State chunk(const T* p, int64_t n, int64_t first) const {
    const T value = functions.chunk(p, n);
    return {value, first + find(p, n, value)};
  }
  // Left comes before right.
  State apply(const State& left, const State& right) const {
    if (left.value != left.value) return left;
    const bool is_right = right.value != right.value ||
                          (is_max ? right.value > left.value : right.value < left.value);
    return is_right ? right : left;
  }
  State identity() const { return {T(0), 0}; }
  void store(const State& s, char* const* to) const {
    char* index = to[0];
    if (store_value) {
      store_value(reinterpret_cast<const char*>(&s.value), Block{1, 1, 0, 0}, to[0]);
      index = to[1];
    }
    *reinterpret_cast<int64_t*>(index) = s.index;
  }
};

template <class T>
void run(bool is_max, ReduceFns<T> fns, int64_t (*find)(const T*, int64_t, T), const Tensor& self,
         uint64_t bits, bool keepdim, Span<const Tensor*> outs) {
  const ComputeType compute = compute_type(self.dtype());
  const ArgReducer<T> reducer{is_max, fns, find,
                              outs.size() > 1 ? store_fn(compute, self.dtype()) : nullptr};
  const ReduceShape shape(self, bits, keepdim, outs, /*keeps_order=*/true);
  run_reduction(reducer, shape, tile_source(self.dtype(), compute), self, outs);
}

void arg_reduce(bool is_max, const Tensor& self, uint64_t bits, bool keepdim,
                Span<const Tensor*> outs) {
  const LineKernels& k = line_kernels();
  const int op = static_cast<int>(is_max ? ReduceOp::Max : ReduceOp::Min);
  switch (compute_type(self.dtype())) {
    case ComputeType::F32:
      return run<float>(is_max, k.float_reduce[op], k.float_rows.find, self, bits, keepdim, outs);
    case ComputeType::F64:
      return run<double>(is_max, k.double_reduce[op], k.double_rows.find, self, bits, keepdim,
                         outs);
    case ComputeType::I64:
      return run<int64_t>(is_max, k.int_reduce[op], k.find_int, self, bits, keepdim, outs);
    default:
      return run<uint64_t>(is_max, k.uint_reduce[op], k.find_uint, self, bits, keepdim, outs);
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
