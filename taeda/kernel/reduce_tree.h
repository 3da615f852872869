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

// The lanes of a chunk as a tree; overwrites them.
template <class Body, int kHalf>
TD_FN void td_combine_lanes(typename Body::S* lanes) {
  for (int i = 0; i < kHalf; ++i) lanes[i] = Body::combine(lanes[i], lanes[i + kHalf]);
  if constexpr (kHalf > 1) td_combine_lanes<Body, kHalf / 2>(lanes);
}

// The tree over states. A body has a type S of states, identity(), combine(a, b), and the number
// kLanes of lanes of the tree; Wide is the same for kWidth neighbours at once, and lane(s, i) takes
// one of them. Source gives one(i), and where kWidth is more than one, wide(i), the lifted
// elements.
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
  td_combine_lanes<Body, kLanes / 2>(lanes);
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
  td_cascade<td_tree_combine<Body>, typename Body::S> cascade;
  for (td_long begin = 0;;) {
    const td_long length = n - begin < kReduceChunk ? n - begin : kReduceChunk;
    const typename Body::S value = td_tree_chunk<Body, Wide>(source, begin, length);
    begin += length;
    if (begin == n && cascade.count == 0) return value;
    cascade.push(value);
    if (begin == n) return cascade.finish();
  }
}

TAEDA_MATH_END
