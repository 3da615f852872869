// Parts of floating-point numbers: frexp.
#include <cmath>
#include <type_traits>

#include "taeda/backends/cpu/float_math_declarations.h"
#include "taeda/backends/cpu/pointwise/element_walk.h"

namespace taeda::cpu {
namespace {

template <class T>
constexpr bool kIsFloat = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                          std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

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

}  // namespace taeda::cpu
