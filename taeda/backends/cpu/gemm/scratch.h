// Buffers that each thread keeps between products, so that a steady state allocates nothing.
#pragma once

#include <cstddef>

namespace taeda::cpu {

enum class Scratch { PanelA, PanelB, Sums, Vector, Filled, Filters, Patches, kCount };

// At least `bytes` of memory aligned to 64, the calling thread's own, valid until its next request
// for the same slot. Contents are undefined. Throws OutOfMemory.
void* scratch(Scratch slot, size_t bytes);

template <class T>
T* scratch_array(Scratch slot, size_t count) {
  return static_cast<T*>(scratch(slot, count * sizeof(T)));
}

}  // namespace taeda::cpu
