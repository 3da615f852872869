// The sum of a bag's rows, in vectors of each instruction set.
#pragma once

#include <cstdint>

namespace taeda::cpu {

// Rows of a table, whose elements lie side by side.
template <class T>
struct BagRun {
  const T* table;
  int64_t pitch, width;
  const int64_t* rows;
  int64_t count, ahead;  // `ahead` rows more may be named: their memory is asked for
  int64_t padding;       // a row that does not count
  const T* samples;      // a factor per row, or null
};

// to = the sum of the rows; returns the number of those that count.
template <class T>
using BagSum = int64_t (*)(const BagRun<T>& run, T* to);

// That of this machine, for float and double.
template <class T>
BagSum<T> bag_sum();

}  // namespace taeda::cpu
