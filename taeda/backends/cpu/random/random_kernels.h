// The table of random kernels that each instruction set fills; random_fill.cpp calls the best
// one's.
#pragma once

#include <cstdint>

namespace taeda::cpu {

// The part of a stream a kernel draws: elements [first, first + count) of the run at `offset`.
struct RandomRun {
  int64_t first, count;
  uint64_t seed, offset;
};

struct RandomKernels {
  void (*uniform_float)(float* out, RandomRun run, float lo, float width, float last,
                        int mantissa_bits);
  void (*uniform_double)(double* out, RandomRun run, double lo, double width, double last);
  void (*normal_float)(float* out, RandomRun run, float mean, float std);
  void (*normal_double)(double* out, RandomRun run, double mean, double std);
  // For ranges from 1 to 2^32 - 1.
  void (*random_int)(int64_t* out, RandomRun run, int64_t lo, uint32_t range);
  // w < threshold.
  void (*bernoulli)(uint8_t* out, RandomRun run, uint32_t threshold);
  void (*words)(uint32_t* out, RandomRun run);
};

}  // namespace taeda::cpu
