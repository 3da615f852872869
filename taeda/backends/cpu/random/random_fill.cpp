// Chooses the kernels of this processor, and computes the parts that need no vectors.
#include "taeda/backends/cpu/random/random_fill.h"

#include "taeda/backends/cpu/random/random_kernels.h"
#include "taeda/base/isa.h"
#include "taeda/base/parallel.h"

#include <algorithm>
#include <cmath>

namespace taeda::cpu {

#if defined(__aarch64__)
extern const RandomKernels random_kernels_neon;
#else
extern const RandomKernels random_kernels_generic, random_kernels_avx2, random_kernels_avx512;
#endif

namespace {

#if defined(__aarch64__)
const RandomKernels& kernels() { return random_kernels_neon; }
#else
const RandomKernels& kernels() {
  static const RandomKernels* const sets[] = {&random_kernels_generic, &random_kernels_avx2,
                                              &random_kernels_avx512};
  return *sets[isa_level()];
}
#endif

// A multiple of the elements of the largest block: 16 counters of 4 words.
constexpr int64_t kBlock = 64;
// Elements below which a second thread costs more than it saves.
constexpr int64_t kGrainBlocks = 128;

// Calls body(words, done, n) for pieces of the run that fit in L1.
template <class Body>
void for_each_piece(RandomRun run, Body body) {
  constexpr int64_t kPiece = 1024;
  uint32_t words[kPiece];
  for (int64_t done = 0; done < run.count; done += kPiece) {
    const int64_t n = std::min(kPiece, run.count - done);
    kernels().words(words, {run.first + done, n, run.seed, run.offset});
    body(words, done, n);
  }
}

template <class P>
void bernoulli_by_element(uint8_t* out, RandomRun run, const P* p) {
  for_each_piece(run, [=](const uint32_t* words, int64_t done, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      out[done + i] = static_cast<double>(words[i]) < static_cast<double>(p[done + i]) * 0x1p32;
  });
}

}  // namespace

void fill_uniform(float* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset,
                  float lo, float hi, int mantissa_bits) {
  // The largest value below hi: u (hi - lo) + lo must not round to more.
  const float last = lo < hi ? std::nextafter(hi, lo) : hi;
  kernels().uniform_float(out, {first, count, seed, offset}, lo, hi - lo, last, mantissa_bits);
}

void fill_uniform(double* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset,
                  double lo, double hi) {
  const double last = lo < hi ? std::nextafter(hi, lo) : hi;
  kernels().uniform_double(out, {first, count, seed, offset}, lo, hi - lo, last);
}

void fill_normal(float* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset,
                 float mean, float std) {
  kernels().normal_float(out, {first, count, seed, offset}, mean, std);
}

void fill_normal(double* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset,
                 double mean, double std) {
  kernels().normal_double(out, {first, count, seed, offset}, mean, std);
}

void fill_random_int(int64_t* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset,
                     int64_t lo, uint64_t range) {
  const RandomRun run{first, count, seed, offset};
  if (range != 0 && range <= UINT32_MAX)
    return kernels().random_int(out, run, lo, static_cast<uint32_t>(range));
  // Two words an element: the same stream seen as twice as many 32-bit elements.
  for_each_piece({2 * first, 2 * count, seed, offset}, [=](const uint32_t* words, int64_t done,
                                                           int64_t n) {
    for (int64_t i = 0; i < n / 2; ++i) {
      const uint64_t word = words[2 * i] | uint64_t{words[2 * i + 1]} << 32;
      const uint64_t scaled =
          range == 0 ? word
                     : static_cast<uint64_t>((static_cast<unsigned __int128>(word) * range) >> 64);
      out[done / 2 + i] = static_cast<int64_t>(static_cast<uint64_t>(lo) + scaled);
    }
  });
}

void fill_bernoulli(uint8_t* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset,
                    double p) {
  const double threshold = std::ceil(p * 0x1p32);
  if (threshold >= 0x1p32)
    std::fill_n(out, std::max<int64_t>(count, 0), uint8_t{1});
  else
    kernels().bernoulli(out, {first, count, seed, offset}, static_cast<uint32_t>(threshold));
}

void fill_bernoulli(uint8_t* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset,
                    const float* p) {
  bernoulli_by_element(out, {first, count, seed, offset}, p);
}

void fill_bernoulli(uint8_t* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset,
                    const double* p) {
  bernoulli_by_element(out, {first, count, seed, offset}, p);
}

void fill_words(uint32_t* out, int64_t first, int64_t count, uint64_t seed, uint64_t offset) {
  kernels().words(out, {first, count, seed, offset});
}

void parallel_random_fill(int64_t total, FunctionRef<void(int64_t, int64_t)> fill) {
  const int64_t blocks = total / kBlock + (total % kBlock != 0);
  parallel_for(0, blocks, kGrainBlocks, [&](int64_t begin, int64_t end) {
    fill(begin * kBlock, std::min(end * kBlock, total) - begin * kBlock);
  });
}

}  // namespace taeda::cpu
