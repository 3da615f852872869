// Common divisors and multiples of integers, element by element.
#include <numeric>
#include <type_traits>

#include "taeda/backends/cpu/divisors_declarations.h"
#include "taeda/backends/cpu/pointwise/element_walk.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

// In the unsigned type, where the size of the smallest integer has a place; the result wraps.
template <class T>
std::make_unsigned_t<T> size_of(T x) {
  using U = std::make_unsigned_t<T>;
  return x < 0 ? static_cast<U>(U(0) - static_cast<U>(x)) : static_cast<U>(x);
}

// out = f(|a|, |b|), all of out's dtype.
template <class F>
void for_sizes(const Tensor& a, const Tensor& b, Tensor& out, F&& f) {
  const Tensor x = a.to(out.dtype()), y = b.to(out.dtype());
  const LoopNest nest = walk_of_pairs(out, x, y);
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      for_elements(nest, 16, [&](char* const* at) {
        const auto left = size_of(*reinterpret_cast<const T*>(at[1])),
                   right = size_of(*reinterpret_cast<const T*>(at[2]));
        *reinterpret_cast<T*>(at[0]) = static_cast<T>(f(left, right));
      });
  });
}

}  // namespace

void gcd(const Tensor& self, const Tensor& other, Tensor& out) {
  for_sizes(self, other, out, [](auto a, auto b) { return std::gcd(a, b); });
}
void lcm(const Tensor& self, const Tensor& other, Tensor& out) {
  for_sizes(self, other, out, [](auto a, auto b) {
    const auto divisor = std::gcd(a, b);
    return divisor == 0 ? divisor : static_cast<decltype(divisor)>(a / divisor * b);
  });
}

}  // namespace taeda::cpu
