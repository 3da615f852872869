// The random kernels of one instruction set: a counter a lane, four words a counter, stored in
// order.
#include "taeda/backends/cpu/random/random_kernels.h"
#include "taeda/kernel/math_random.h"

#include <cstddef>

namespace taeda::cpu {
namespace {

using namespace kernel;

constexpr int kLanes = TAEDA_VEC_BYTES / 4;
// Blocks computed side by side.
constexpr int kChains = 2;
using Words = td_words<td_u32>;
using Keys = td_philox_keys<td_u32>;

// ABAB... of the lower and of the upper halves of two vectors.
#if TAEDA_VEC_BYTES == 16
#  define TAEDA_ZIP32_LOW 0, 4, 1, 5
#  define TAEDA_ZIP32_HIGH 2, 6, 3, 7
#  define TAEDA_ZIP64_LOW 0, 2
#  define TAEDA_ZIP64_HIGH 1, 3
constexpr td_u32 kLaneIndex = {0, 1, 2, 3};
#elif TAEDA_VEC_BYTES == 32
#  define TAEDA_ZIP32_LOW 0, 8, 1, 9, 2, 10, 3, 11
#  define TAEDA_ZIP32_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#  define TAEDA_ZIP64_LOW 0, 4, 1, 5
#  define TAEDA_ZIP64_HIGH 2, 6, 3, 7
constexpr td_u32 kLaneIndex = {0, 1, 2, 3, 4, 5, 6, 7};
#else
#  define TAEDA_ZIP32_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#  define TAEDA_ZIP32_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#  define TAEDA_ZIP64_LOW 0, 8, 1, 9, 2, 10, 3, 11
#  define TAEDA_ZIP64_HIGH 4, 12, 5, 13, 6, 14, 7, 15
constexpr td_u32 kLaneIndex = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#endif
template <class V>
TD_FN V zip_low(V a, V b) {
  if constexpr (sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, TAEDA_ZIP32_LOW);
  else
    return __builtin_shufflevector(a, b, TAEDA_ZIP64_LOW);
}
template <class V>
TD_FN V zip_high(V a, V b) {
  if constexpr (sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, TAEDA_ZIP32_HIGH);
  else
    return __builtin_shufflevector(a, b, TAEDA_ZIP64_HIGH);
}

template <class T, class V>
TD_FN void store(T* out, V value) {
  __builtin_memcpy(out, &value, sizeof value);
}
// Writes the four values of each lane next to each other.
template <class T, class V>
TD_FN void store_by_lane(T* out, V a, V b, V c, V d) {
  const V ac_low = zip_low(a, c), ac_high = zip_high(a, c);
  const V bd_low = zip_low(b, d), bd_high = zip_high(b, d);
  store(out, zip_low(ac_low, bd_low));
  store(out + kLanes, zip_high(ac_low, bd_low));
  store(out + 2 * kLanes, zip_low(ac_high, bd_high));
  store(out + 3 * kLanes, zip_high(ac_high, bd_high));
}

// The words of blocks index, index + 1, ...; a block is a vector of counters.
template <int kCount>
TD_FN void words_of(uint64_t offset, int64_t index, const Keys& keys, Words (&words)[kCount]) {
  td_u32 low[kCount], high[kCount];
  for (int i = 0; i < kCount; ++i) {
    const uint64_t counter = offset + static_cast<uint64_t>(index + i) * kLanes;
    low[i] = static_cast<uint32_t>(counter) + kLaneIndex;
    const td_u32 carry = (td_u32)(low[i] < static_cast<uint32_t>(counter));
    high[i] = static_cast<uint32_t>(counter >> 32) - carry;
  }
  td_philox(low, high, keys, words);
}

// Runs `body` over blocks of whole vectors of counters; blocks that the run cuts go through a
// buffer. body(T* out, const Words& words) writes kBlock elements.
template <int kWordsPerElement, class T, class Body>
TD_FN void for_each_block(T* out, RandomRun run, Body body) {
  constexpr int64_t kBlock = 4 * kLanes / kWordsPerElement;
  const int64_t end = run.first + run.count;
  int64_t block = run.first / kBlock;
  const Keys keys = td_make_philox_keys(run.seed, td_u32{});
  auto cut_block = [&](int64_t from, int64_t to) {
    T buffer[kBlock];
    Words words[1];
    words_of(run.offset, block, keys, words);
    body(buffer, words[0]);
    __builtin_memcpy(out, buffer + (from - block * kBlock),
                     static_cast<size_t>(to - from) * sizeof(T));
    out += to - from;
    ++block;
  };
  if (run.count <= 0) return;
  if (run.first != block * kBlock) {
    const int64_t block_end = (block + 1) * kBlock;
    cut_block(run.first, end < block_end ? end : block_end);
  }
  for (; (block + kChains) * kBlock <= end; block += kChains, out += kChains * kBlock) {
    Words words[kChains];
    words_of(run.offset, block, keys, words);
    for (int i = 0; i < kChains; ++i) body(out + i * kBlock, words[i]);
  }
  while (block * kBlock < end) {
    const int64_t block_end = (block + 1) * kBlock;
    cut_block(block * kBlock, end < block_end ? end : block_end);
  }
}

void uniform_float(float* out, RandomRun run, float lo, float width, float last,
                   int mantissa_bits) {
  for_each_block<1>(out, run, [=](float* to, const Words& words) {
    auto value = [=](td_u32 word) {
      const td_f32 x = td_uniform32<td_f32>(word, mantissa_bits) * width + lo;
      return x < last ? x : td_broadcast<td_f32>::of(last);
    };
    store_by_lane(to, value(words.w0), value(words.w1), value(words.w2), value(words.w3));
  });
}

void uniform_double(double* out, RandomRun run, double lo, double width, double last) {
  for_each_block<2>(out, run, [=](double* to, const Words& words) {
    auto value = [=](td_u32 word) {
      const td_f64 x = td_uniform64<td_f64>((td_u64)word) * width + lo;
      return x < last ? x : td_broadcast<td_f64>::of(last);
    };
    auto half = [=](double* part, td_u32 first, td_u32 second) {
      const td_f64 a = value(first), b = value(second);
      store(part, zip_low(a, b));
      store(part + kLanes / 2, zip_high(a, b));
    };
    half(to, zip_low(words.w0, words.w1), zip_low(words.w2, words.w3));
    half(to + kLanes, zip_high(words.w0, words.w1), zip_high(words.w2, words.w3));
  });
}

void normal_float(float* out, RandomRun run, float mean, float std) {
  for_each_block<1>(out, run, [=](float* to, const Words& words) {
    const td_normals<td_f32> a = td_normal_pair<td_f32>(words.w0, words.w1);
    const td_normals<td_f32> b = td_normal_pair<td_f32>(words.w2, words.w3);
    store_by_lane(to, a.x * std + mean, a.y * std + mean, b.x * std + mean, b.y * std + mean);
  });
}

void normal_double(double* out, RandomRun run, double mean, double std) {
  for_each_block<2>(out, run, [=](double* to, const Words& words) {
    auto half = [=](double* part, td_u32 first, td_u32 second) {
      const td_normals<td_f64> n = td_normal_pair<td_f64>((td_u64)first, (td_u64)second);
      const td_f64 x = n.x * std + mean, y = n.y * std + mean;
      store(part, zip_low(x, y));
      store(part + kLanes / 2, zip_high(x, y));
    };
    half(to, zip_low(words.w0, words.w1), zip_low(words.w2, words.w3));
    half(to + kLanes, zip_high(words.w0, words.w1), zip_high(words.w2, words.w3));
  });
}

void random_int(int64_t* out, RandomRun run, int64_t lo, uint32_t range) {
  for_each_block<2>(out, run, [=](int64_t* to, const Words& words) {
    // The top word of the 96-bit product of a 64-bit word and the range.
    auto scaled = [=](td_u32 low, td_u32 high) {
      td_u32 carry, rest, top, middle;
      td_multiply_wide(low, range, carry, rest);
      td_multiply_wide(high, range, top, middle);
      const td_u32 is_overflow = (td_u32)(middle + carry < middle);
      return top - is_overflow;
    };
    const td_u32 a = scaled(words.w0, words.w1), b = scaled(words.w2, words.w3), zero = {};
    const td_u32 low = zip_low(a, b), high = zip_high(a, b);
    store(to, (td_i64)zip_low(low, zero) + lo);
    store(to + kLanes / 2, (td_i64)zip_high(low, zero) + lo);
    store(to + kLanes, (td_i64)zip_low(high, zero) + lo);
    store(to + 3 * kLanes / 2, (td_i64)zip_high(high, zero) + lo);
  });
}

void bernoulli(uint8_t* out, RandomRun run, uint32_t threshold) {
  for_each_block<1>(out, run, [=](uint8_t* to, const Words& words) {
    // The four bytes of a lane's four words are one little-endian word.
    auto bit = [=](td_u32 word, uint32_t place) { return (td_u32)(word < threshold) & place; };
    store(to, bit(words.w0, 1) | bit(words.w1, 1u << 8) | bit(words.w2, 1u << 16) |
                  bit(words.w3, 1u << 24));
  });
}

void words(uint32_t* out, RandomRun run) {
  for_each_block<1>(out, run, [](uint32_t* to, const Words& words) {
    store_by_lane(to, words.w0, words.w1, words.w2, words.w3);
  });
}

}  // namespace

#define TAEDA_NAME_OF(isa) random_kernels_##isa
#define TAEDA_NAME(isa) TAEDA_NAME_OF(isa)
extern const RandomKernels TAEDA_NAME(TAEDA_ISA);
constinit const RandomKernels TAEDA_NAME(TAEDA_ISA) = {
    uniform_float, uniform_double, normal_float, normal_double, random_int, bernoulli, words};

}  // namespace taeda::cpu
