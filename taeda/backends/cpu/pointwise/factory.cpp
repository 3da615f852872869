// Ranges on the CPU.
#include <algorithm>
#include <cmath>
#include <vector>

#include "taeda/backends/cpu/factory_declarations.h"
#include "taeda/base/parallel.h"
#include "taeda/kernel/interpret/primitives.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kFillGrain = 65536;

template <class T>
constexpr bool is_complex_type =
    std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>;

// Calls write(element, index) for each element in logical order.
template <class T, class F>
void for_each_element(Tensor& self, F&& write) {
  T* out = static_cast<T*>(self.data());
  const bool is_contiguous = self.is_contiguous();
  const IntList sizes = self.sizes(), strides = self.strides();
  parallel_for(0, self.numel(), kFillGrain, [&](int64_t first, int64_t last) {
    if (is_contiguous) {
      for (int64_t i = first; i < last; ++i) write(out[i], i);
      return;
    }
    for (int64_t i = first; i < last; ++i) {
      int64_t at = 0, rest = i;
      for (size_t d = sizes.size(); d-- > 0;) {
        at += rest % sizes[d] * strides[d];
        rest /= sizes[d];
      }
      write(out[at], i);
    }
  });
}

// The type in which numbers of this type are computed.
template <class T>
using Wide = std::conditional_t<is_complex_type<T>, Complex<double>, double>;

template <class T>
Wide<T> wide(const Scalar& s) {
  if constexpr (is_complex_type<T>)
    return s.to_complex();
  else
    return s.to_double();
}

template <class T>
T to_stored(Wide<T> v) {
  if constexpr (std::is_same_v<T, bool>)
    return v != 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<int64_t>(v));
  else if constexpr (is_complex_type<T> || std::is_same_v<T, double>)
    return T(v);
  else
    return T(static_cast<float>(v));
}

Complex<double> power(double base, Complex<double> exponent) {
  const double size = std::pow(base, exponent.re), angle = exponent.im * std::log(base);
  return {size * std::cos(angle), size * std::sin(angle)};
}

// base ^ exponent(i) for each i below `count`, as kernels compute it.
template <class F>
std::vector<double> powers(double base, int64_t count, F&& exponent) {
  constexpr int64_t kTile = 1024;
  const std::vector<double> bases(kTile, base);
  const kernel::TilePrimitive raise = kernel::find_primitive(kernel::Op::Pow, kernel::Type::F64);
  std::vector<double> made(static_cast<size_t>(count));
  parallel_for(0, count, kFillGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) made[i] = exponent(i);
    for (int64_t i = first; i < last; i += kTile) {
      auto* const tile = reinterpret_cast<char*>(made.data() + i);
      auto* const base_tile = reinterpret_cast<char*>(const_cast<double*>(bases.data()));
      char* const memory[] = {tile, base_tile, tile};
      raise(memory, std::min(kTile, last - i), nullptr);
    }
  });
  return made;
}

}  // namespace

Tensor& _fill_range_(Tensor& self, const Scalar& start, const Scalar& step) {
  visit_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      const int64_t s = start.to_int(), d = step.to_int();
      for_each_element<T>(self, [=](T& e, int64_t i) { e = static_cast<T>(s + i * d); });
    } else {
      const Wide<T> s = wide<T>(start), d = wide<T>(step);
      for_each_element<T>(self, [=](T& e, int64_t i) {
        e = to_stored<T>(s + Wide<T>(static_cast<double>(i)) * d);
      });
    }
  });
  return self;
}

Tensor& _fill_spaced_(Tensor& self, const Scalar& start, const Scalar& end,
                      std::optional<double> base) {
  const int64_t steps = self.numel();
  if (steps == 0) return self;
  visit_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    using W = Wide<T>;
    // Integers count from whole numbers.
    const Scalar from = std::is_integral_v<T> ? Scalar(start.to_int()) : start;
    const Scalar to = std::is_integral_v<T> ? Scalar(end.to_int()) : end;
    const W s = wide<T>(from), e = wide<T>(to);
    W d = steps > 1 ? (e - s) / W(static_cast<double>(steps - 1)) : W(0.0);
    // PyTorch's exponents of integers are floats, which shows where a power is just below a whole
    // number.
    [[maybe_unused]] const bool is_float_exponent = std::is_integral_v<T> && base;
    if constexpr (std::is_integral_v<T>)
      if (base) d = static_cast<float>(d);
    const auto number = [=](int64_t i) {
      // From both ends, so that both are met exactly.
      W v = i < steps / 2 || steps == 1 ? s + W(static_cast<double>(i)) * d
                                        : e - W(static_cast<double>(steps - 1 - i)) * d;
      if constexpr (std::is_integral_v<T>)
        if (is_float_exponent)
          v = i < steps / 2 || steps == 1
                  ? static_cast<float>(s) + static_cast<float>(d) * static_cast<float>(i)
                  : static_cast<float>(e) -
                        static_cast<float>(d) * static_cast<float>(steps - 1 - i);
      return v;
    };
    if (!base)
      return for_each_element<T>(self, [&](T& out, int64_t i) { out = to_stored<T>(number(i)); });
    if constexpr (is_complex_type<T>) {
      for_each_element<T>(self,
                          [&](T& out, int64_t i) { out = to_stored<T>(power(*base, number(i))); });
    } else {
      const std::vector<double> made = powers(*base, steps, number);
      for_each_element<T>(self, [&](T& out, int64_t i) { out = to_stored<T>(made[i]); });
    }
  });
  return self;
}

}  // namespace taeda::cpu
