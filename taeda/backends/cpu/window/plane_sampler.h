// The table of functions that sample planes at the places of a grid, one per instruction set.
#pragma once

#include <cstdint>

#include "taeda/backends/cpu/window/grid_rule.h"

namespace taeda::cpu {

// At most so many places are sampled at once.
inline constexpr int64_t kPlaneChunk = 256;

// Places in planes of `height` rows. Offsets within a plane must fit an int32_t.
template <class T>
struct PlanePlaces {
  const T* grid;  // x and y of each place
  int64_t count, height, width;
  GridRule rule;
};

// Channels lie behind one another: elements of a plane, and places of each result.
struct PlaneChannels {
  int64_t count, plane, places;
};

template <class T>
struct PlaneKernels {
  void (*forward)(const PlanePlaces<T>& places, const PlaneChannels& channels, const T* input,
                  T* out);
  // Adds to both gradients; either may be null. `grad_grid` begins at the first place.
  void (*backward)(const PlanePlaces<T>& places, const PlaneChannels& channels, const T* grad,
                   const T* input, T* grad_input, T* grad_grid);
};

// Those of this machine, for float and double.
template <class T>
const PlaneKernels<T>& plane_kernels();

}  // namespace taeda::cpu
