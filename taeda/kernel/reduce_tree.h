// The order in which a contiguous run is reduced, the same in eager and generated code.
//
// Note [Reduction tree]. A run of n elements is cut into chunks of 4096. Inside a chunk element i
// goes to lane i mod L, where L lanes fill 64 bytes (16 floats, 8 doubles or 64-bit integers); each
// lane starts at the identity and combines its elements in order. The lanes are combined as a tree,
// i with i + half. The chunks' results are combined by a pairwise cascade in index order:
// equal-sized neighbours as soon as both exist, what is left at the end from the last to the first.
// So the result depends on n and the data alone, not on threads or register width.
#pragma once

#include "taeda/kernel/math_types.h"

TAEDA_MATH_BEGIN

constexpr td_long kReduceChunk = 4096;
template <class S>
constexpr int kReduceLanes = 64 / (int)sizeof(S);

// The lanes of a chunk as a tree; overwrites them.
template <class Combine, class S>
TD_FN S td_combine_lanes(S* lanes) {
  for (int half = kReduceLanes<S> / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = Combine::apply(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

// The cascade over chunk results.
template <class Combine, class S>
struct td_cascade {
  S level[52];
  td_long count = 0;

  TD_MEMBER_FN void push(S value) {
    int depth = 0;
    for (td_long bits = count; bits & 1; bits >>= 1) value = Combine::apply(level[depth++], value);
    level[depth] = value;
    ++count;
  }
  // Needs at least one push.
  TD_MEMBER_FN S finish() const {
    int depth = 0;
    while (!((count >> depth) & 1)) ++depth;
    S value = level[depth];
    for (++depth; (count >> depth) != 0; ++depth) {
      if ((count >> depth) & 1) value = Combine::apply(level[depth], value);
    }
    return value;
  }
};

// Reduces elements begin .. begin + n of one chunk (n <= 4096). Source gives scalar(i), and where
// V is a vector, vector(i), the lanes of elements i and after; Combine has apply(a, b) for both.
template <class Combine, class V, class S, class Source>
TD_FN S td_reduce_chunk(const Source& source, td_long begin, td_long n, S identity) {
  constexpr int kLanes = kReduceLanes<S>;
  constexpr int kWidth = sizeof(V) / sizeof(S);
  constexpr int kRegisters = kLanes / kWidth;
  S lanes[kLanes];
  td_long rows = n / kLanes;
  if constexpr (kWidth == 1) {
    for (int l = 0; l < kLanes; ++l) lanes[l] = identity;
    for (td_long row = 0; row < rows; ++row) {
      for (int l = 0; l < kLanes; ++l) {
        lanes[l] = Combine::apply(lanes[l], source.scalar(begin + row * kLanes + l));
      }
    }
  } else {
    V accumulators[kRegisters];
    for (int r = 0; r < kRegisters; ++r) accumulators[r] = V{} + identity;
    for (td_long row = 0; row < rows; ++row) {
#pragma GCC unroll 8
      for (int r = 0; r < kRegisters; ++r) {
        accumulators[r] =
            Combine::apply(accumulators[r], source.vector(begin + row * kLanes + r * kWidth));
      }
    }
    for (int l = 0; l < kLanes; ++l) lanes[l] = accumulators[l / kWidth][l % kWidth];
  }
  for (td_long i = rows * kLanes; i < n; ++i) {
    S& lane = lanes[i - rows * kLanes];
    lane = Combine::apply(lane, source.scalar(begin + i));
  }
  return td_combine_lanes<Combine>(lanes);
}

// A whole run; the identity where n is 0.
template <class Combine, class V, class S, class Source>
TD_FN S td_reduce_run(const Source& source, td_long n, S identity) {
  if (n <= kReduceChunk) {
    return td_reduce_chunk<Combine, V, S>(source, 0, n, identity);
  }
  td_cascade<Combine, S> cascade;
  for (td_long begin = 0; begin < n; begin += kReduceChunk) {
    td_long length = n - begin < kReduceChunk ? n - begin : kReduceChunk;
    cascade.push(td_reduce_chunk<Combine, V, S>(source, begin, length, identity));
  }
  return cascade.finish();
}

// Combining steps of one state.
struct td_combine_sum {
  template <class F>
  TD_MEMBER_FN static F apply(F a, F b) {
    return a + b;
  }
};
struct td_combine_prod {
  template <class F>
  TD_MEMBER_FN static F apply(F a, F b) {
    return a * b;
  }
};
struct td_combine_max {
  template <class F>
  TD_MEMBER_FN static F apply(F a, F b) {
    return td_maximum(a, b);
  }
};
struct td_combine_min {
  template <class F>
  TD_MEMBER_FN static F apply(F a, F b) {
    return td_minimum(a, b);
  }
};

// The tree over states of generated code. A body has a type S of states, identity(), combine(a, b),
// and the number kLanes of lanes of the tree; Wide is the same for kWidth neighbours at once, and
// lane(s, i) takes one of them. Source gives one(i), and where kWidth is more than one, wide(i),
// the lifted elements.
template <class Body, class Wide, class Source>
TD_FN typename Body::S td_tree_chunk(const Source& source, td_long begin, td_long n) {
  constexpr int kLanes = Body::kLanes, kWidth = Wide::kWidth, kRegisters = kLanes / kWidth;
  typename Body::S lanes[kLanes];
  const td_long rows = n / kLanes;
  if constexpr (kWidth == 1) {
    for (int l = 0; l < kLanes; ++l) lanes[l] = Body::identity();
    for (td_long row = 0; row < rows; ++row)
      for (int l = 0; l < kLanes; ++l)
        lanes[l] = Body::combine(lanes[l], source.one(begin + row * kLanes + l));
  } else {
    typename Wide::S registers[kRegisters];
    for (int r = 0; r < kRegisters; ++r) registers[r] = Wide::identity();
    for (td_long row = 0; row < rows; ++row) {
#pragma GCC unroll 8
      for (int r = 0; r < kRegisters; ++r)
        registers[r] = Wide::combine(registers[r], source.wide(begin + row * kLanes + r * kWidth));
    }
    for (int l = 0; l < kLanes; ++l) lanes[l] = Wide::lane(registers[l / kWidth], l % kWidth);
  }
  for (td_long i = rows * kLanes; i < n; ++i) {
    const int l = (int)(i - rows * kLanes);
    lanes[l] = Body::combine(lanes[l], source.one(begin + i));
  }
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] = Body::combine(lanes[i], lanes[i + half]);
  return lanes[0];
}
// Sources made of functions.
template <class One>
struct td_source {
  const One& element;
  TD_MEMBER_FN auto one(td_long i) const { return element(i); }
};
template <class One, class Wide>
struct td_wide_source {
  const One& element;
  const Wide& elements;
  TD_MEMBER_FN auto one(td_long i) const { return element(i); }
  TD_MEMBER_FN auto wide(td_long i) const { return elements(i); }
};
template <class Body>
struct td_tree_combine {
  TD_MEMBER_FN static typename Body::S apply(typename Body::S a, typename Body::S b) {
    return Body::combine(a, b);
  }
};
template <class Body, class Wide, class Source>
TD_FN typename Body::S td_tree(const Source& source, td_long n) {
  if (n <= kReduceChunk) return td_tree_chunk<Body, Wide>(source, 0, n);
  td_cascade<td_tree_combine<Body>, typename Body::S> cascade;
  for (td_long begin = 0; begin < n; begin += kReduceChunk)
    cascade.push(td_tree_chunk<Body, Wide>(source, begin,
                                           n - begin < kReduceChunk ? n - begin : kReduceChunk));
  return cascade.finish();
}

TAEDA_MATH_END
