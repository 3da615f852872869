// Running scans.
#pragma once

#include <vector>

#include "taeda/kernel/interpret/unit.h"

namespace taeda::kernel {

// One running scan: its states, and tiles of its results, which the walk's steps after it read.
class ScanRun {
 public:
  ScanRun(const ReducePlan& plan, Walk& walk);
  // The next n elements: the tile of the first value, and a tile per state that they are lifted to.
  void add(const char* values, char* const* lifted, int64_t n);

 private:
  const ReducePlan& plan_;
  Walk& walk_;
  ScanPrimitive scan_;
  std::vector<char> combine_scratch_;
  std::vector<std::vector<char>> tiles_;
  alignas(16) char states_[8][16];
};

}  // namespace taeda::kernel
