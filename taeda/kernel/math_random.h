// Random words and the numbers made of them: Philox, uniform and normal numbers, over scalars and
// vectors alike.
//
// Written in the dialect of kernel/math.h (Note [One arithmetic]), so a lane of any vector width, a
// scalar loop and generated code give the same bits. Note [Random stream] says which element gets
// which words.
#pragma once

#include "taeda/kernel/math.h"

TAEDA_MATH_BEGIN

// high and low word of the 64-bit product a * m.
TD_FN void td_multiply_wide(unsigned a, unsigned m, unsigned& high, unsigned& low) {
  const td_ulong product = (td_ulong)a * m;
  high = (unsigned)(product >> 32);
  low = (unsigned)product;
}
#if !defined(__CUDACC__)
TD_FN void td_multiply_wide(td_u32 a, unsigned m, td_u32& high, td_u32& low) {
  const td_u32 factor = m - td_u32{};
#  if defined(__aarch64__)
  // Written as instructions: the intrinsics need a large header, the builtins' names change.
  td_u32 first, second;
  __asm__("umull %0.2d, %1.2s, %2.2s" : "=w"(first) : "w"(a), "w"(factor));
  __asm__("umull2 %0.2d, %1.4s, %2.4s" : "=w"(second) : "w"(a), "w"(factor));
  low = __builtin_shufflevector(first, second, 0, 2, 4, 6);
  high = __builtin_shufflevector(first, second, 1, 3, 5, 7);
#  else
#    if TAEDA_VEC_BYTES == 64
  typedef long long none_type __attribute__((vector_size(64)));
  const none_type none = {};
  const unsigned char every_lane = 0xff;
  const td_u64 even =
      (td_u64)__builtin_ia32_pmuludq512_mask((td_i32)a, (td_i32)factor, none, every_lane);
  const td_u64 odd = (td_u64)__builtin_ia32_pmuludq512_mask((td_i32)((td_u64)a >> 32),
                                                            (td_i32)factor, none, every_lane);
#    elif TAEDA_VEC_BYTES == 32
  const td_u64 even = (td_u64)__builtin_ia32_pmuludq256((td_i32)a, (td_i32)factor);
  const td_u64 odd = (td_u64)__builtin_ia32_pmuludq256((td_i32)((td_u64)a >> 32), (td_i32)factor);
#    else
  const td_u64 even = (td_u64)__builtin_ia32_pmuludq128((td_i32)a, (td_i32)factor);
  const td_u64 odd = (td_u64)__builtin_ia32_pmuludq128((td_i32)((td_u64)a >> 32), (td_i32)factor);
#    endif
  low = (td_u32)((even & 0xffffffffu) | (odd << 32));
  high = (td_u32)((even >> 32) | (odd & 0xffffffff00000000u));
#  endif
}
#endif

// One block of four words, or one per lane.
template <class U>
struct td_words {
  U w0, w1, w2, w3;
};

// The keys of the ten rounds of a seed.
template <class U>
struct td_philox_keys {
  U key0[10], key1[10];
};
template <class U>
TD_FN td_philox_keys<U> td_make_philox_keys(td_ulong seed, U zero) {
  td_philox_keys<U> keys;
  unsigned key0 = (unsigned)seed, key1 = (unsigned)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    keys.key0[round] = zero + key0;
    keys.key1[round] = zero + key1;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return keys;
}

// Philox 4x32-10 of the counters (low, high, 0, 0); U is unsigned or td_u32. kChains independent
// blocks advance side by side to hide the latency of the multiplications.
template <int kChains, class U>
TD_FN void td_philox(const U (&low)[kChains], const U (&high)[kChains],
                     const td_philox_keys<U>& keys, td_words<U> (&words)[kChains]) {
  for (int i = 0; i < kChains; ++i) words[i] = {low[i], high[i], low[i] ^ low[i], low[i] ^ low[i]};
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (int i = 0; i < kChains; ++i) {
      td_words<U>& c = words[i];
      U high0, low0, high1, low1;
      td_multiply_wide(c.w0, 0xD2511F53u, high0, low0);
      td_multiply_wide(c.w2, 0xCD9E8D57u, high1, low1);
      c = {high1 ^ (c.w1 ^ keys.key0[round]), low1, high0 ^ (c.w3 ^ keys.key1[round]), low0};
    }
  }
}

TD_FN float td_from_int(int x) { return (float)x; }
#if !defined(__CUDACC__)
TD_FN td_f32 td_from_int(td_i32 x) { return __builtin_convertvector(x, td_f32); }
#endif
// Exact for |x| < 2^51.
template <class F>
TD_FN F td_from_int51(typename td_traits<F>::I x) {
  return td_from_bits(x + 0x4338000000000000) - 0x1.8p52;
}

// The top `bits` (24 at most) of a word as a multiple of 2^-bits in [0, 1).
template <class F, class U>
TD_FN F td_uniform32(U w, int bits) {
  typedef typename td_traits<F>::I I;
  return td_from_int((I)(w >> (32 - bits))) * td_from_bits((127 - bits) << 23);
}

// The top 53 bits of a 64-bit word as a multiple of 2^-53 in [0, 1).
template <class F, class U>
TD_FN F td_uniform64(U w) {
  typedef typename td_traits<F>::I I;
  // 2^84 and 2^52 carry the upper 21 and the lower 32 bits as their last ones.
  const F upper = td_from_bits((I)((w >> 43) | 0x4530000000000000u)) - 0x1p84;
  const F lower = td_from_bits((I)(((w >> 11) & 0xffffffffu) | 0x4330000000000000u)) - 0x1p52;
  return (upper + lower) * 0x1p-53;
}

// Two independent standard normal numbers from two words (Box and Muller).
template <class F>
struct td_normals {
  F x, y;
};
template <class F, class U>
TD_FN td_normals<F> td_normal_pair(U a, U b) {
  typedef typename td_traits<F>::S S;
  typedef typename td_traits<F>::I I;
  // The radius: u in (0, 1], never 0, so the logarithm is finite.
  F u;
  if constexpr (td_is_single<F>)
    u = (td_from_int((I)(a >> 1)) + S(0.5)) * S(0x1p-31);
  else
    u = td_uniform64<F>(a) + S(0x1p-53);
  const F radius = td_sqrt(S(-2) * td_log(u));
  // The direction: b is an angle in units of 2^-32 or 2^-64 turns, reduced to an eighth of a turn
  // around the nearest multiple of a quarter.
  constexpr int shift = td_is_single<F> ? 30 : 62;
  U quarter;
  if constexpr (td_is_single<F>)
    quarter = (b + 0x20000000u) >> shift;
  else
    quarter = (b + 0x2000000000000000u) >> shift;
  const I rest = (I)(b - (quarter << shift));
  F angle;
  if constexpr (td_is_single<F>)
    angle = td_from_int(rest) * S(0x1.921fb6p-30);
  else
    angle = td_from_int51<F>(rest >> 11) * S(0x1.921fb54442d18p-51);
  const F z = angle * angle;
  const F s = td_fma(angle * z, td_poly_sin(z), angle);
  const F c = td_fma(z * z, td_poly_cos(z), S(1) - S(0.5) * z);
  const auto is_odd = (I)(quarter & 1) != 0;
  const F cosine = is_odd ? s : c;
  const F sine = is_odd ? c : s;
  const F cosine_signed = td_from_bits(td_bits(cosine) ^ (I)(((quarter + 1) & 2) << shift));
  const F sine_signed = td_from_bits(td_bits(sine) ^ (I)((quarter & 2) << shift));
  return {radius * cosine_signed, radius * sine_signed};
}

// ---- one element of a stream ----
// Note [Random stream]: words 4 to a counter, from counter `offset` on.
TD_FN td_words<unsigned> td_draw_block(td_ulong seed, td_ulong counter) {
  const td_philox_keys<unsigned> keys = td_make_philox_keys(seed, 0u);
  const unsigned low[1] = {(unsigned)counter}, high[1] = {(unsigned)(counter >> 32)};
  td_words<unsigned> words[1];
  td_philox(low, high, keys, words);
  return words[0];
}
// The block that was drawn last, for elements that follow each other; made of its seed.
struct td_kept_block {
  td_ulong seed, counter = 0;
  bool is_there = false;
  td_words<unsigned> words = {};
};
TD_FN td_words<unsigned> td_draw_block(td_kept_block& kept, td_ulong counter) {
  if (!kept.is_there || kept.counter != counter) {
    kept.words = td_draw_block(kept.seed, counter);
    kept.counter = counter;
    kept.is_there = true;
  }
  return kept.words;
}
// Functions of a seed, or of such a block in its place.
template <class Seed>
TD_FN td_long td_draw_word(Seed&& seed, td_ulong offset, td_long i) {
  const td_words<unsigned> w = td_draw_block(seed, offset + (td_ulong)i / 4);
  const int place = (int)(i & 3);
  return place < 2 ? (place == 0 ? w.w0 : w.w1) : (place == 2 ? w.w2 : w.w3);
}
template <class Seed>
TD_FN td_ulong td_draw_word64(Seed&& seed, td_ulong offset, td_long i) {
  const td_words<unsigned> w = td_draw_block(seed, offset + (td_ulong)i / 2);
  return i & 1 ? w.w2 | (td_ulong)w.w3 << 32 : w.w0 | (td_ulong)w.w1 << 32;
}
// The upper half of the product of a 64-bit word and the limit; 0 stands for 2^64.
TD_FN td_ulong td_limited(td_ulong word, td_ulong limit) {
  if (limit == 0) return word;
  const td_ulong a = word >> 32, b = word & 0xffffffffu, c = limit >> 32, d = limit & 0xffffffffu;
  const td_ulong middle = a * d + (b * d >> 32), cross = b * c + (middle & 0xffffffffu);
  return a * c + (middle >> 32) + (cross >> 32);
}
template <class Seed>
TD_FN td_ulong td_draw_integer(Seed&& seed, td_ulong offset, td_long i, td_ulong limit) {
  return td_limited(td_draw_word64(seed, offset, i), limit);
}
template <class Seed>
TD_FN float td_draw_uniform(Seed&& seed, td_ulong offset, td_long i, int bits) {
  return td_uniform32<float>((unsigned)td_draw_word(seed, offset, i), bits);
}
template <class Seed>
TD_FN double td_draw_uniform53(Seed&& seed, td_ulong offset, td_long i) {
  return td_uniform64<double>(td_draw_word64(seed, offset, i));
}
template <class F, class Seed>
TD_FN F td_draw_normal(Seed&& seed, td_ulong offset, td_long i) {
  td_normals<F> pair;
  if constexpr (td_is_single<F>) {
    const td_words<unsigned> w = td_draw_block(seed, offset + (td_ulong)i / 4);
    pair = i & 2 ? td_normal_pair<F>(w.w2, w.w3) : td_normal_pair<F>(w.w0, w.w1);
  } else {
    const td_words<unsigned> w = td_draw_block(seed, offset + (td_ulong)i / 2);
    pair = td_normal_pair<F>(w.w0 | (td_ulong)w.w1 << 32, w.w2 | (td_ulong)w.w3 << 32);
  }
  return i & 1 ? pair.y : pair.x;
}

#if !defined(__CUDACC__)
// ---- a vector of neighbours of a stream ----
// Lanes from place `first` on. Each draws a block of its own: more blocks than one for each four
// lanes, but all of them at once.
struct td_drawn_row {
  td_words<td_u32> words[1];
  td_u32 place;  // in the block
};
TD_FN td_drawn_row td_draw_row(td_ulong seed, td_ulong offset, td_long first) {
  td_u32 place = {};
  for (int lane = 0; lane < TAEDA_VEC_BYTES / 4; ++lane)
    place[lane] = (unsigned)(first & 3) + (unsigned)lane;
  const td_ulong counter = offset + (td_ulong)first / 4;
  const td_u32 from = td_u32{} + (unsigned)counter;
  const td_u32 low[1] = {from + (place >> 2)};
  const td_u32 carried = low[0] < from ? td_u32{} + 1 : td_u32{};
  const td_u32 high[1] = {carried + (unsigned)(counter >> 32)};
  td_drawn_row row;
  row.place = place & 3;
  td_philox(low, high, td_make_philox_keys(seed, td_u32{}), row.words);
  return row;
}
TD_FN td_u32 td_draw_word_row(td_ulong seed, td_ulong offset, td_long first) {
  if constexpr (TAEDA_VEC_BYTES < 32) {
    td_kept_block kept = {seed};
    td_u32 row = {};
    for (int lane = 0; lane < TAEDA_VEC_BYTES / 4; ++lane)
      row[lane] = (unsigned)td_draw_word(kept, offset, first + lane);
    return row;
  } else {
    const td_drawn_row row = td_draw_row(seed, offset, first);
    const td_words<td_u32>& w = row.words[0];
    const auto is_odd = (row.place & 1) != 0;
    const td_u32 lower = is_odd ? w.w1 : w.w0, upper = is_odd ? w.w3 : w.w2;
    return (row.place & 2) != 0 ? upper : lower;
  }
}
TD_FN td_f32 td_draw_uniform_row(td_ulong seed, td_ulong offset, td_long first, int bits) {
  return td_uniform32<td_f32>(td_draw_word_row(seed, offset, first), bits);
}
TD_FN td_f32 td_draw_normal_row(td_ulong seed, td_ulong offset, td_long first) {
  const td_drawn_row row = td_draw_row(seed, offset, first);
  const td_words<td_u32>& w = row.words[0];
  const auto is_upper = (row.place & 2) != 0;
  const td_normals<td_f32> pair =
      td_normal_pair<td_f32>(is_upper ? w.w2 : w.w0, is_upper ? w.w3 : w.w1);
  return (row.place & 1) != 0 ? pair.y : pair.x;
}
#endif

// ---- neighbours of a stream ----
// The elements from place `first` on, a multiple of their number, which fill whole blocks: each
// block is drawn once for all of its elements.
template <int kCount>
TD_FN void td_draw_word_pack(td_long (&to)[kCount], td_ulong seed, td_ulong offset, td_long first) {
  static_assert(kCount % 4 == 0, "whole blocks");
  for (int i = 0; i < kCount; i += 4) {
    const td_words<unsigned> w = td_draw_block(seed, offset + (td_ulong)(first + i) / 4);
    to[i] = w.w0;
    to[i + 1] = w.w1;
    to[i + 2] = w.w2;
    to[i + 3] = w.w3;
  }
}
template <int kCount>
TD_FN void td_draw_word64_pack(td_ulong (&to)[kCount], td_ulong seed, td_ulong offset,
                               td_long first) {
  static_assert(kCount % 2 == 0, "whole blocks");
  for (int i = 0; i < kCount; i += 2) {
    const td_words<unsigned> w = td_draw_block(seed, offset + (td_ulong)(first + i) / 2);
    to[i] = w.w0 | (td_ulong)w.w1 << 32;
    to[i + 1] = w.w2 | (td_ulong)w.w3 << 32;
  }
}
template <int kCount>
TD_FN void td_draw_integer_pack(td_ulong (&to)[kCount], td_ulong seed, td_ulong offset,
                                td_long first, td_ulong limit) {
  td_draw_word64_pack(to, seed, offset, first);
  for (int i = 0; i < kCount; ++i) to[i] = td_limited(to[i], limit);
}
template <int kCount>
TD_FN void td_draw_uniform_pack(float (&to)[kCount], td_ulong seed, td_ulong offset, td_long first,
                                int bits) {
  td_long words[kCount];
  td_draw_word_pack(words, seed, offset, first);
  for (int i = 0; i < kCount; ++i) to[i] = td_uniform32<float>((unsigned)words[i], bits);
}
template <int kCount>
TD_FN void td_draw_uniform53_pack(double (&to)[kCount], td_ulong seed, td_ulong offset,
                                  td_long first) {
  td_ulong words[kCount];
  td_draw_word64_pack(words, seed, offset, first);
  for (int i = 0; i < kCount; ++i) to[i] = td_uniform64<double>(words[i]);
}
template <int kCount>
TD_FN void td_draw_normal_pack(float (&to)[kCount], td_ulong seed, td_ulong offset, td_long first) {
  td_long words[kCount];
  td_draw_word_pack(words, seed, offset, first);
  for (int i = 0; i < kCount; i += 2) {
    const td_normals<float> pair =
        td_normal_pair<float>((unsigned)words[i], (unsigned)words[i + 1]);
    to[i] = pair.x;
    to[i + 1] = pair.y;
  }
}
template <int kCount>
TD_FN void td_draw_normal_pack(double (&to)[kCount], td_ulong seed, td_ulong offset,
                               td_long first) {
  td_ulong words[kCount];
  td_draw_word64_pack(words, seed, offset, first);
  for (int i = 0; i < kCount; i += 2) {
    const td_normals<double> pair = td_normal_pair<double>(words[i], words[i + 1]);
    to[i] = pair.x;
    to[i + 1] = pair.y;
  }
}

TAEDA_MATH_END
