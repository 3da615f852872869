// The table of row functions behind windows, one per instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

namespace taeda::cpu {

// An index beside an element, of the same width.
template <class T>
using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// Weighted sums of neighbours along a row, for results in groups of `width`, whose neighbours lie
// so close that vectors from the group's start on hold them. Groups follow each other in all lists.
template <class T>
struct NearSums {
  int64_t groups, count;  // neighbours of each result
  const int64_t* starts;  // per group: where its vectors start
  const Place<T>* lanes;  // per result: its first neighbour, from the start on
  const T* weights;       // per group: `width` weights of first neighbours, of second ones, ...
};

template <class T>
struct WindowRows {
  int width;  // elements of a vector
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
  // The sums of all groups. Vectors are read whole: up to `width` elements behind the last
  // neighbour.
  void (*near_sums)(T* out, const T* p, const NearSums<T>& sums);
};

// Those of this machine, for float, double and int64_t.
template <class T>
const WindowRows<T>& window_rows();

}  // namespace taeda::cpu
