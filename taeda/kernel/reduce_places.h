// Reductions with the same result in every order, for generated code: they need no tree.
//
// The first extreme element and its index: places in a chunk have the width of the elements. A body
// has takes_place(before, x) over elements V, places P beside them, and states of an element and
// its index. The other ones are whether any or all elements are true. Elements may come twice.
#pragma once

#include "taeda/kernel/math_mixed.h"
#include "taeda/kernel/reduce_tree.h"

TAEDA_MATH_BEGIN

// Places as indices of type T from `first` on.
template <class T, class P>
struct td_indices {
  TD_MEMBER_FN static T of(P place, td_long first) { return place + first; }
};
template <class V, class P>
struct td_indices<td_two<V>, P> {
  TD_MEMBER_FN static td_two<V> of(P place, td_long first) {
    return td_halves([first](auto half) { return half + first; }, td_widen<V>(place));
  }
};
template <class Body>
TD_FN typename Body::S td_placed(typename Body::V value, typename Body::P place, td_long first) {
  return {value, td_indices<decltype(Body::S::p1), typename Body::P>::of(place, first)};
}

// The element x takes its place.
template <class Body>
TD_FN void td_take_place(typename Body::V& value, typename Body::P& place, typename Body::V x,
                         typename Body::P x_place) {
  const auto takes = Body::takes_place(value, x);
  value = takes ? x : value;
  place = takes ? x_place : place;
}
// The same for elements in any order.
template <class Body>
TD_FN void td_merge_place(typename Body::V& value, typename Body::P& place, typename Body::V x,
                          typename Body::P x_place) {
  const auto takes =
      Body::takes_place(value, x) |
      (!Body::takes_place(x, value) & (decltype(Body::takes_place(x, x)))(x_place < place));
  value = takes ? x : value;
  place = takes ? x_place : place;
}

// Lanes in order, and lanes moved around by some places.
template <class P>
TD_FN P td_lane_numbers() {
  P numbers = {};
  for (int l = 0; l < (int)(sizeof(P) / sizeof(P{}[0])); ++l) numbers[l] = l;
  return numbers;
}
template <class V>
TD_FN V td_rotated(V v, int by) {
  constexpr int kWidth = sizeof(V) / sizeof(V{}[0]);
  typedef __typeof__(V{} < V{}) Places;
  return __builtin_shuffle(v, (td_lane_numbers<Places>() + by) & (kWidth - 1));
}

// Columns side by side: each source gives the element i of its columns. `first` is the index of
// element 0.
template <class Body, class... One>
TD_FN void td_place_columns(typename Body::S* results, td_long n, td_long first,
                            const One&... one) {
  constexpr int kColumns = sizeof...(One);
  for (int c = 0; c < kColumns; ++c) results[c] = Body::identity();
  for (td_long begin = 0; begin < n; begin += kReduceChunk) {
    const int length = (int)(n - begin < kReduceChunk ? n - begin : kReduceChunk);
    typename Body::V values[kColumns] = {one(begin)...};
    typename Body::P places[kColumns] = {};
    for (int i = 1; i < length; ++i) {
      int c = 0;
      ((td_take_place<Body>(values[c], places[c], one(begin + i), typename Body::P{} + i), ++c),
       ...);
    }
    for (int c = 0; c < kColumns; ++c)
      results[c] = Body::combine(results[c], td_placed<Body>(values[c], places[c], first + begin));
  }
}

// A chunk of a row of at least one vector. The last vector may have elements of the one before.
template <class Body, class Wide, class Source>
TD_FN typename Body::S td_place_vectors(const Source& source, td_long begin, int length,
                                        td_long first) {
  typedef typename Wide::V V;
  typedef typename Wide::P P;
  constexpr int kWidth = Wide::kWidth, kRegisters = 4, kStep = kRegisters * kWidth;
  const V start = source.wide(begin);
  V values[kRegisters];
  P places[kRegisters] = {};
  for (int r = 0; r < kRegisters; ++r) values[r] = start;
  int i = kWidth;
  for (; i + kStep <= length; i += kStep) {
#pragma GCC unroll 4
    for (int r = 0; r < kRegisters; ++r)
      td_take_place<Wide>(values[r], places[r], source.wide(begin + i + r * kWidth),
                          P{} + (i + r * kWidth));
  }
  if (i > kWidth) {
#pragma GCC unroll 4
    for (int r = 1; r < kRegisters; ++r)
      td_merge_place<Wide>(values[0], places[0], values[r], places[r]);
  }
  for (; i + kWidth <= length; i += kWidth)
    td_take_place<Wide>(values[0], places[0], source.wide(begin + i), P{} + i);
  if (i < length) {
    i = length - kWidth;
    td_take_place<Wide>(values[0], places[0], source.wide(begin + i), P{} + i);
  }
  V value = values[0];
  P place = places[0] + td_lane_numbers<P>();
#pragma GCC unroll 4
  for (int half = kWidth / 2; half > 0; half /= 2)
    td_merge_place<Wide>(value, place, td_rotated(value, half), td_rotated(place, half));
  return td_placed<Body>(value[0], (typename Body::P)place[0], first + begin);
}
// A row of n elements.
template <class Body, class Wide, class Source>
TD_FN typename Body::S td_place_row(const Source& source, td_long n, td_long first) {
  typename Body::S result = Body::identity();
  for (td_long begin = 0; begin < n; begin += kReduceChunk) {
    const int length = (int)(n - begin < kReduceChunk ? n - begin : kReduceChunk);
    if (length >= Wide::kWidth) {
      result = Body::combine(result, td_place_vectors<Body, Wide>(source, begin, length, first));
    } else {
      typename Body::S rest;
      const auto one = [&](td_long i) { return source.one(begin + i); };
      td_place_columns<Body>(&rest, length, first + begin, one);
      result = Body::combine(result, rest);
    }
  }
  return result;
}

// Whether any or all of n elements are true.
template <class Body, class Wide, class Source>
TD_FN typename Body::S td_truth_row(const Source& source, td_long n) {
  constexpr int kWidth = Wide::kWidth, kRegisters = 4, kStep = kRegisters * kWidth;
  if (n < kWidth) {
    typename Body::S result = Body::identity();
    for (td_long i = 0; i < n; ++i) result = Body::combine(result, source.one(i));
    return result;
  }
  typename Wide::S states[kRegisters];
  for (int r = 0; r < kRegisters; ++r) states[r] = Wide::identity();
  td_long i = 0;
  for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 4
    for (int r = 0; r < kRegisters; ++r)
      states[r] = Wide::combine(states[r], source.wide(i + r * kWidth));
  }
  typename Wide::S state =
      Wide::combine(Wide::combine(states[0], states[1]), Wide::combine(states[2], states[3]));
  for (; i + kWidth <= n; i += kWidth) state = Wide::combine(state, source.wide(i));
  if (i < n) state = Wide::combine(state, source.wide(n - kWidth));
#pragma GCC unroll 4
  for (int half = kWidth / 2; half > 0; half /= 2)
    state = Wide::combine(state, {td_rotated(state.p0, half)});
  return Wide::lane(state, 0);
}

TAEDA_MATH_END
