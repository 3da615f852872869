// Variance, standard deviation and mean in one pass over memory.
#include <cmath>
#include <limits>

#include "taeda/backends/cpu/reduce/reduce_driver.h"
#include "taeda/backends/cpu/variance_declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

// Count, mean and sum of squared deviations of some elements.
template <class M>
struct Moments {
  double count;
  M mean;
  double squares;
};

inline double squared_norm(double d) { return d * d; }
inline double squared_norm(Complex<double> d) { return d.re * d.re + d.im * d.im; }
inline double over(double d, double n) { return d / n; }
inline Complex<double> over(Complex<double> d, double n) { return {d.re / n, d.im / n}; }

// Each chunk is read from the cache a second time for its deviations, which keeps every digit;
// chunks are joined in double precision.
template <class T>
struct MomentReducer {
  static constexpr bool kIsComplex = !std::is_floating_point_v<T>;
  using Element = T;
  using Mean = std::conditional_t<kIsComplex, Complex<double>, double>;
  using State = Moments<Mean>;
  double correction;
  bool is_std, has_mean;
  StoreFn store_real, store_mean;

  State chunk(const T* p, int64_t n, int64_t) const {
    const double count = static_cast<double>(n);
    if constexpr (kIsComplex) {
      Mean mean{};
      for (int64_t i = 0; i < n; ++i) mean += Mean(p[i].re, p[i].im);
      mean = over(mean, count);
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) squares += squared_norm(Mean(p[i].re, p[i].im) - mean);
      return {count, mean, squares};
    } else {
      const RowFns<T>& rows = row_fns<T>();
      const auto& sum = [] {
        if constexpr (std::is_same_v<T, float>)
          return line_kernels().float_reduce[0].chunk;
        else
          return line_kernels().double_reduce[0].chunk;
      }();
      const T rough = sum(p, n) / static_cast<T>(n);
      const double shift = static_cast<double>(rows.sum_deviations(p, n, rough)) / count;
      const double squares =
          static_cast<double>(rows.sum_squared_deviations(p, n, rough)) - count * shift * shift;
      return {count, rough + shift, squares < 0 ? 0 : squares};
    }
  }
  State apply(const State& a, const State& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double n = a.count + b.count;
    const Mean d = b.mean - a.mean;
    return {n, a.mean + over(d, n / b.count),
            a.squares + b.squares + squared_norm(d) * (a.count * b.count / n)};
  }
  State identity() const { return {0, Mean{}, 0}; }
  void store(const State& s, char* const* to) const {
    const double divisor = s.count - correction;
    double value = s.count == 0 ? std::numeric_limits<double>::quiet_NaN()
                                : s.squares / (divisor > 0 ? divisor : 0);
    if (is_std) value = std::sqrt(value);
    store_real(reinterpret_cast<const char*>(&value), Block{1, 1, 0, 0}, to[0]);
    if (!has_mean) return;
    const Mean mean = s.count == 0 ? over(Mean{}, 0.0) : s.mean;
    store_mean(reinterpret_cast<const char*>(&mean), Block{1, 1, 0, 0}, to[1]);
  }
};

template <class T>
void run(const Tensor& self, uint64_t bits, std::optional<Scalar> correction, bool keepdim,
         bool is_std, Span<const Tensor*> outs) {
  using Reducer = MomentReducer<T>;
  const bool has_mean = outs.size() > 1;
  const ComputeType mean_type = Reducer::kIsComplex ? ComputeType::C128 : ComputeType::F64;
  const Reducer reducer{correction ? correction->to_double() : 1.0, is_std, has_mean,
                        store_fn(ComputeType::F64, outs[0]->dtype()),
                        has_mean ? store_fn(mean_type, outs[1]->dtype()) : nullptr};
  const ReduceShape shape(self, bits, keepdim, outs);
  run_reduction(reducer, shape, tile_source(self.dtype(), compute_type(self.dtype())), self, outs);
}

void moments(const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction,
             bool keepdim, bool is_std, Span<const Tensor*> outs) {
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  switch (compute_type(self.dtype())) {
    case ComputeType::F32: return run<float>(self, bits, correction, keepdim, is_std, outs);
    case ComputeType::F64: return run<double>(self, bits, correction, keepdim, is_std, outs);
    case ComputeType::C64:
      return run<Complex<float>>(self, bits, correction, keepdim, is_std, outs);
    default: return run<Complex<double>>(self, bits, correction, keepdim, is_std, outs);
  }
}

}  // namespace

void var_correction(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool keepdim, Tensor& out) {
  const Tensor* const outs[] = {&out};
  moments(self, dim, correction, keepdim, false, outs);
}
void std_correction(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool keepdim, Tensor& out) {
  const Tensor* const outs[] = {&out};
  moments(self, dim, correction, keepdim, true, outs);
}
void var_mean_correction(const Tensor& self, std::optional<IntList> dim,
                         std::optional<Scalar> correction, bool keepdim, Tensor& out0,
                         Tensor& out1) {
  const Tensor* const outs[] = {&out0, &out1};
  moments(self, dim, correction, keepdim, false, outs);
}
void std_mean_correction(const Tensor& self, std::optional<IntList> dim,
                         std::optional<Scalar> correction, bool keepdim, Tensor& out0,
                         Tensor& out1) {
  const Tensor* const outs[] = {&out0, &out1};
  moments(self, dim, correction, keepdim, true, outs);
}

}  // namespace taeda::cpu
