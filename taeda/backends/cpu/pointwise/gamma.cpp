// Polygamma, incomplete gamma and zeta functions, element by element in double precision.
#include "taeda/backends/cpu/pointwise/gamma.h"

#include <cmath>

#include "taeda/backends/cpu/pointwise/element_walk.h"
#include "taeda/backends/cpu/special_math_declarations.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/special_math/functions.h"

namespace taeda::cpu {
namespace {

// out = f(a, b), all of out's dtype.
template <class F>
void binary(const Tensor& a, const Tensor& b, Tensor& out, F&& f) {
  const Tensor x = a.to(out.dtype()), y = b.to(out.dtype());
  const LoopNest nest = walk_of_pairs(out, x, y);
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                  std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      for_elements(nest, 64, [&](char* const* at) {
        const double left = static_cast<double>(*reinterpret_cast<const T*>(at[1])),
                     right = static_cast<double>(*reinterpret_cast<const T*>(at[2]));
        *reinterpret_cast<T*>(at[0]) = static_cast<T>(f(left, right));
      });
  });
}

}  // namespace

void polygamma(int64_t n, const Tensor& self, Tensor& out) {
  if (n == 0) {
    taeda::digamma_out(out, self);
    return;
  }
  const auto order = static_cast<double>(n) + 1;
  const double factor = (n % 2 ? 1.0 : -1.0) * std::tgamma(order);
  binary(self, self, out,
         [=](double x, double) { return factor * kernel::td_zeta_scalar(order, x); });
}
void igamma(const Tensor& self, const Tensor& other, Tensor& out) {
  binary(self, other, out,
         [](double a, double x) { return kernel::td_igamma_scalar(a, x, false); });
}
void igammac(const Tensor& self, const Tensor& other, Tensor& out) {
  binary(self, other, out, [](double a, double x) { return kernel::td_igamma_scalar(a, x, true); });
}
void special_zeta(const Tensor& self, const Tensor& other, Tensor& out) {
  binary(self, other, out, [](double s, double q) { return kernel::td_zeta_scalar(s, q); });
}

}  // namespace taeda::cpu
