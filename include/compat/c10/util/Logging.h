// Checks, warnings, and lists on streams.
#pragma once

#include <ostream>
#include <vector>

#include "c10/util/Exception.h"

// "1 2 3", the first hundred; in std, where programs that print a list of numbers find it.
namespace std {
template <class T>
ostream& operator<<(ostream& out, const vector<T>& values) {
  constexpr size_t kMost = 100;
  for (size_t i = 0; i < values.size() && i < kMost; ++i) out << (i ? " " : "") << values[i];
  return values.size() > kMost ? out << " ..." : out;
}
}  // namespace std
