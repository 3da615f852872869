// Fills memory with random numbers of a Philox stream (Note [Random stream]).
//
// Every function writes elements [first, first + count) of the run that starts at counter `offset`
// to out[0 .. count): whoever splits a run over threads or tiles gets the numbers of one call.
// Results depend on neither the split, the instruction set nor alignment. Not interruptible, no
// allocation.
//
//   function         element       words  value
//   fill_uniform     float         1      lo + u (hi - lo), u a multiple of 2^-24
//                    double        2      the same with 2^-53
//   fill_normal      float         1      Box-Muller on the word pairs (0, 1) and (2, 3)
//                    double        2      Box-Muller on the two 64-bit halves of a counter
//   fill_random_int  int64_t       2      lo + floor(w range / 2^64)
//   fill_bernoulli   uint8_t       1      w < p 2^32
//   fill_words       uint32_t      1      w
#pragma once

#include <cstdint>

#include "taeda/base/export.h"
#include "taeda/base/function_ref.h"

namespace taeda::cpu {

// In [lo, hi) where lo < hi. `mantissa_bits` is the float's resolution: a caller that rounds to
// bfloat16 (8) or half (11) passes theirs, so that rounding cannot reach hi from below.
TAEDA_API void fill_uniform(float* out, int64_t first, int64_t count, uint64_t seed,
                            uint64_t offset, float lo, float hi, int mantissa_bits = 24);
TAEDA_API void fill_uniform(double* out, int64_t first, int64_t count, uint64_t seed,
                            uint64_t offset, double lo, double hi);

TAEDA_API void fill_normal(float* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset,
                           float mean, float std);
TAEDA_API void fill_normal(double* out, int64_t first, int64_t count, uint64_t seed,
                           uint64_t offset, double mean, double std);

// In [lo, lo + range); range 0 stands for 2^64. Wraps around like uint64_t.
TAEDA_API void fill_random_int(int64_t* out, int64_t first, int64_t count, uint64_t seed,
                               uint64_t offset, int64_t lo, uint64_t range);

// 1 with probability p, else 0; p in [0, 1] in steps of 2^-32, rounded up.
TAEDA_API void fill_bernoulli(uint8_t* out, int64_t first, int64_t count, uint64_t seed,
                              uint64_t offset, double p);
// The same with a probability an element: p[i] goes with out[i].
TAEDA_API void fill_bernoulli(uint8_t* out, int64_t first, int64_t count, uint64_t seed,
                              uint64_t offset, const float* p);
TAEDA_API void fill_bernoulli(uint8_t* out, int64_t first, int64_t count, uint64_t seed,
                              uint64_t offset, const double* p);

TAEDA_API void fill_words(uint32_t* out, int64_t first, int64_t count, uint64_t seed,
                          uint64_t offset);

// Calls fill(first, count) over parts of [0, total), on several threads where that pays. Parts
// start at multiples of the largest block of the kernels, so no counter is computed twice.
TAEDA_API void parallel_random_fill(int64_t total, FunctionRef<void(int64_t, int64_t)> fill);

}  // namespace taeda::cpu
