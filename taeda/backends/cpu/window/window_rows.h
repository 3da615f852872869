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
  // The greatest of `count` rows at each place, and the number that goes with its row: of equal
  // elements the first counts, of several that are no numbers the last.
  void (*greatest)(T* best, Place<T>* at, const T* const* rows, const Place<T>* places,
                   int64_t count, int64_t n);
  // out = the sum of `count` rows / divisor; 0 for a divisor of 0.
  void (*mean)(T* out, const T* const* rows, int64_t count, T divisor, int64_t n);
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
