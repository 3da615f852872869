// Parts and neighbours of floating-point numbers: frexp and nextafter.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "taeda/backends/cpu/float_math_declarations.h"
#include "taeda/backends/cpu/pointwise/element_walk.h"

namespace taeda::cpu {
namespace {

template <class T>
constexpr bool kIsFloat = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                          std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class T>
T next_after(T from, T to) {
  if constexpr (sizeof(T) != 2) {
    return std::nextafter(from, to);
  } else {
    // The bits of a 16-bit float count its steps away from zero.
    const auto x = static_cast<float>(from), y = static_cast<float>(to);
    if (x != x || y != y) return static_cast<T>(x + y);
    if (x == y) return to;
    uint16_t bits;
    std::memcpy(&bits, &from, 2);
    if (x == 0)
      bits = y > 0 ? 1 : 0x8001;
    else
      bits = static_cast<uint16_t>((x < y) == (x > 0) ? bits + 1 : bits - 1);
    T out;
    std::memcpy(static_cast<void*>(&out), &bits, 2);
    return out;
  }
}

}  // namespace

void frexp_Tensor(const Tensor& self, Tensor& mantissa, Tensor& exponent) {
  LoopNest nest;
  nest.add(mantissa, self.sizes());
  nest.add(exponent, self.sizes());
  nest.add(self, self.sizes());
  nest.finish(self.sizes());
  visit_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (kIsFloat<T>)
      for_elements(nest, 4, [](char* const* at) {
        int power = 0;
        if constexpr (sizeof(T) == 8) {
          *reinterpret_cast<T*>(at[0]) = std::frexp(*reinterpret_cast<const T*>(at[2]), &power);
        } else {
          const auto x = static_cast<float>(*reinterpret_cast<const T*>(at[2]));
          *reinterpret_cast<T*>(at[0]) = static_cast<T>(std::frexp(x, &power));
        }
        *reinterpret_cast<int32_t*>(at[1]) = power;
      });
  });
}

void nextafter(const Tensor& self, const Tensor& other, Tensor& out) {
  const Tensor from = self.to(out.dtype()), to = other.to(out.dtype());
  LoopNest nest;
  nest.add(out, out.sizes());
  nest.add(from, out.sizes());
  nest.add(to, out.sizes());
  nest.finish(out.sizes());
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (kIsFloat<T>)
      for_elements(nest, 4, [](char* const* at) {
        *reinterpret_cast<T*>(at[0]) =
            next_after(*reinterpret_cast<const T*>(at[1]), *reinterpret_cast<const T*>(at[2]));
      });
  });
}

}  // namespace taeda::cpu
