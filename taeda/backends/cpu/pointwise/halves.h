// Runs of half floats to floats and back, in vectors of each instruction set.
#pragma once

#include <cstdint>

#include "taeda/base/export.h"
#include "taeda/base/half.h"

namespace taeda::cpu {

// Both round as `Half` and `BFloat16` do. Elements lie side by side.
template <class T>
struct HalfRuns {
  void (*widen)(const T* from, int64_t count, float* to);
  void (*narrow)(const float* from, int64_t count, T* to);
};

// Those of this machine, for Half and BFloat16.
template <class T>
const HalfRuns<T>& half_runs();
template <>
TAEDA_API const HalfRuns<Half>& half_runs<Half>();
template <>
TAEDA_API const HalfRuns<BFloat16>& half_runs<BFloat16>();

}  // namespace taeda::cpu
