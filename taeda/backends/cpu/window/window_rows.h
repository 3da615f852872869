// The table of row functions behind windows, one per instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

namespace taeda::cpu {

// An index beside an element, of the same width.
template <class T>
using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <class T>
struct WindowRows {
  // best = p and at = place where p is greater than best or no number.
  void (*take_greater)(T* best, Place<T>* at, const T* p, Place<T> place, int64_t n);
  // sum += p
  void (*add)(T* sum, const T* p, int64_t n);
  // sum += factor * p
  void (*add_scaled)(T* sum, const T* p, T factor, int64_t n);
  // out = factor * p
  void (*scale)(T* out, const T* p, T factor, int64_t n);
};

// Those of this machine, for float, double and int64_t.
template <class T>
const WindowRows<T>& window_rows();

}  // namespace taeda::cpu
