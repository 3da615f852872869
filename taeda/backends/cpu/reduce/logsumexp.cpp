// logsumexp on the CPU: each chunk is shifted by its own maximum.
#include <cmath>
#include <limits>

#include "taeda/backends/cpu/reduce/reduce_driver.h"
#include "taeda/backends/cpu/reduction_declarations.h"
#include "taeda/kernel/math.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

// sum(exp(x)) = scaled * exp(maximum); an infinite maximum is the result itself.
template <class T>
struct Scaled {
  T maximum, scaled;
};

template <class T>
struct LogSumExpReducer {
  using Element = T;
  using State = Scaled<T>;
  T (*max_chunk)(const T* p, int64_t n);
  T (*sum_exp)(const T* p, int64_t n, T maximum);
  StoreFn store_one;

  State chunk(const T* p, int64_t n, int64_t) const {
    const T m = max_chunk(p, n);
    return {m, std::isinf(m) ? T(m > 0) : sum_exp(p, n, m)};
  }
  State apply(const State& a, const State& b) const {
    if (a.maximum == b.maximum) return {a.maximum, a.scaled + b.scaled};
    const State& high = a.maximum > b.maximum || a.maximum != a.maximum ? a : b;
    const State& low = &high == &a ? b : a;
    if (std::isinf(high.maximum) || std::isinf(low.maximum)) return high;
    return {high.maximum, high.scaled + low.scaled * kernel::td_exp(low.maximum - high.maximum)};
  }
  State identity() const { return {-std::numeric_limits<T>::infinity(), T(0)}; }
  void store(const State& s, char* const* to) const {
    const T value = std::isinf(s.maximum) ? s.maximum : s.maximum + kernel::td_log(s.scaled);
    store_one(reinterpret_cast<const char*>(&value), Block{1, 1, 0, 0}, to[0]);
  }
};

// Complex numbers are shifted by the greatest real part.
template <class R>
struct ComplexScaled {
  R maximum;
  kernel::td_complex<R> scaled;
};

template <class R>
struct ComplexLogSumExpReducer {
  using Element = Complex<R>;
  using State = ComplexScaled<R>;
  using Value = kernel::td_complex<R>;
  StoreFn store_one;

  static R shift_of(R maximum) { return std::isinf(maximum) ? R(0) : maximum; }
  State chunk(const Element* p, int64_t n, int64_t) const {
    R m = -std::numeric_limits<R>::infinity();
    for (int64_t i = 0; i < n; ++i) m = kernel::td_maximum(m, p[i].re);
    const R shift = shift_of(m);
    Value sum{R(0), R(0)};
    for (int64_t i = 0; i < n; ++i) sum = sum + kernel::td_exp(Value{p[i].re - shift, p[i].im});
    return {m, sum};
  }
  State apply(const State& a, const State& b) const {
    const R m = kernel::td_maximum(a.maximum, b.maximum), shift = shift_of(m);
    const R left = kernel::td_exp(shift_of(a.maximum) - shift),
            right = kernel::td_exp(shift_of(b.maximum) - shift);
    return {m, Value{a.scaled.re * left + b.scaled.re * right,
                     a.scaled.im * left + b.scaled.im * right}};
  }
  State identity() const { return {-std::numeric_limits<R>::infinity(), Value{R(0), R(0)}}; }
  void store(const State& s, char* const* to) const {
    const Value log = kernel::td_log(s.scaled);
    const Element value(log.re + shift_of(s.maximum), log.im);
    store_one(reinterpret_cast<const char*>(&value), Block{1, 1, 0, 0}, to[0]);
  }
};

}  // namespace

void logsumexp(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  const Tensor* const outs[] = {&out};
  const DType common = is_integral(self.dtype(), true) ? default_dtype() : self.dtype();
  const ComputeType compute = compute_type(common);
  const TileSource source = tile_source(self.dtype(), compute);
  const ReduceShape shape(self, dim_bitset(dim, self.dim(), true), keepdim, outs);
  const StoreFn store = store_fn(compute, out.dtype());
  const LineKernels& k = line_kernels();
  const int max = static_cast<int>(ReduceOp::Max);
  switch (compute) {
    case ComputeType::F64:
      return run_reduction(
          LogSumExpReducer<double>{k.double_reduce[max].chunk, k.double_rows.sum_exp, store}, shape,
          source, self, outs);
    case ComputeType::C64:
      return run_reduction(ComplexLogSumExpReducer<float>{store}, shape, source, self, outs);
    case ComputeType::C128:
      return run_reduction(ComplexLogSumExpReducer<double>{store}, shape, source, self, outs);
    default:
      return run_reduction(
          LogSumExpReducer<float>{k.float_reduce[max].chunk, k.float_rows.sum_exp, store}, shape,
          source, self, outs);
  }
}

}  // namespace taeda::cpu
