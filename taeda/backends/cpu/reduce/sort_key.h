// Order-preserving unsigned keys of elements: comparing keys compares values, NaN above all.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace taeda::cpu {

// 32 bits where the element's value fits them.
template <class T>
using SortKey = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// Zeros of both signs are one key, and so are all NaNs: a stable sort keeps their order.
template <class T>
inline SortKey<T> sort_key(T v) {
  using K = SortKey<T>;
  constexpr K kTop = K(1) << (8 * sizeof(K) - 1);
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<K>(static_cast<std::make_signed_t<K>>(v)) ^ kTop;
    else
      return static_cast<K>(v);
  } else if constexpr (std::is_floating_point_v<T>) {
    const K bits = std::bit_cast<K>(v == T(0) ? T(0) : v);
    const K key =
        bits ^
        (static_cast<K>(-static_cast<std::make_signed_t<K>>(bits >> (8 * sizeof(K) - 1))) | kTop);
    return v != v ? ~K(0) : key;
  } else {
    return sort_key(static_cast<float>(v));
  }
}

}  // namespace taeda::cpu
