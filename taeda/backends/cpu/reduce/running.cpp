// Running extremes and running sums of exponentials along a dimension.
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "taeda/backends/cpu/reduce/lines.h"
#include "taeda/backends/cpu/scans_declarations.h"
#include "taeda/kernel/math_complex.h"
#include "taeda/kernel/reduce.h"

namespace taeda::cpu {
namespace {

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return x != x;
}

// NaN is the extreme from its place on; of equal elements the last one counts.
template <class T, class Better>
void running_extreme(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices,
                     Better&& is_better) {
  const Tensor* const tensors[] = {&self, &values, &indices};
  const LineSpace space(tensors, dim);
  const int64_t n = space.length[0];
  for_panels(space, 1, 2 * n, [&](auto&& panels) {
    panels([&](char* const* at, int64_t) {
      T best{};
      int64_t best_index = 0;
      for (int64_t i = 0; i < n; ++i) {
        const T x = *reinterpret_cast<const T*>(at[0] + i * space.along[0]);
        if (i == 0 || is_nan(x) || (!is_nan(best) && is_better(x, best))) {
          best = x;
          best_index = i;
        }
        *reinterpret_cast<T*>(at[1] + i * space.along[1]) = best;
        *reinterpret_cast<int64_t*>(at[2] + i * space.along[2]) = best_index;
      }
    });
  });
}

template <class Better>
void run(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices, Better&& is_better) {
  if (self.numel() == 0) return;
  dim = wrap_dim(dim, self.dim());
  visit_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same_v<T, Complex<float>> && !std::is_same_v<T, Complex<double>>)
      running_extreme<T>(self, dim, values, indices, is_better);
  });
}

double log_sum(double a, double b) {
  using V = kernel::Vec<kernel::One<double>>;
  return kernel::LogAddExpBody::combine<V>({V(a)}, {V(b)}).value.raw;
}

// NaN in either part of either number is NaN in both parts. Of two numbers whose exponentials are
// zero the first stays, as their angles say nothing.
Complex<double> log_sum(Complex<double> a, Complex<double> b) {
  using C = kernel::td_complex<double>;
  if (is_nan(a.re) || is_nan(a.im) || is_nan(b.re) || is_nan(b.im)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  const C low = b.re < a.re ? C{b.re, b.im} : C{a.re, a.im};
  const C high = b.re < a.re ? C{a.re, a.im} : C{b.re, b.im};
  if (low.re == high.re && std::isinf(low.re)) {
    if (low.re < 0) return {low.re, low.im};
    const C one = kernel::td_exp(low), other = kernel::td_exp(high);
    const C log = kernel::td_log(C{one.re + other.re, one.im + other.im});
    return {log.re, log.im};
  }
  const C rest = kernel::td_log1p(kernel::td_exp(C{low.re - high.re, low.im - high.im}));
  return {rest.re + high.re, rest.im + high.im};
}

// Runs in double precision.
template <class A>
void running_log_sums(const Tensor& self, int64_t dim, const Tensor& out, ComputeType compute,
                      A before) {
  const Tensor* const tensors[] = {&self, &out};
  const LineSpace space(tensors, dim);
  const int64_t n = space.length[0];
  const LoadFn load = load_fn(self.dtype(), compute);
  const StoreFn store = store_fn(compute, out.dtype());
  const int64_t most = panel_lines(space, sizeof(A));
  for_panels(space, most, 16 * n, [&](auto&& panels) {
    const auto buffer = std::make_unique_for_overwrite<A[]>(most * n);
    panels([&](char* const* at, int64_t lines) {
      const auto& stride = space.outer[0].stride;
      load_lines(load, at[0], lines, n, stride[0], space.along[0], buffer.get());
      for (int64_t l = 0; l < lines; ++l) {
        A running = before;
        for (A* x = buffer.get() + l * n; x != buffer.get() + (l + 1) * n; ++x)
          *x = running = log_sum(running, *x);
      }
      store_lines(store, buffer.get(), lines, n, stride[1], space.along[1], at[1]);
    });
  });
}

}  // namespace

void cummax(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  run(self, dim, values, indices, [](auto x, auto best) { return x >= best; });
}
void cummin(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  run(self, dim, values, indices, [](auto x, auto best) { return x <= best; });
}

void logcumsumexp(const Tensor& self, int64_t dim, Tensor& out) {
  if (self.numel() == 0) return;
  dim = wrap_dim(dim, self.dim());
  const double nothing = -std::numeric_limits<double>::infinity();
  if (self.is_complex())
    running_log_sums(self, dim, out, ComputeType::C128, Complex<double>{nothing, 0});
  else
    running_log_sums(self, dim, out, ComputeType::F64, nothing);
}

}  // namespace taeda::cpu
