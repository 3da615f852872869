// Results of blocks as the result of all of them, and columns side by side, for generated code.
//
// A run that is cut into blocks of 4096 * 2^k elements is the cascade of Note [Reduction tree] over
// the blocks' states: each of them is a whole level of the cascade over chunks.
#pragma once

#include "taeda/kernel/reduce_tree.h"

TAEDA_MATH_BEGIN

template <class Body, class Source>
TD_FN typename Body::S td_combine_blocks(const Source& source, td_long n) {
  if (n == 0) return Body::identity();
  td_cascade<td_tree_combine<Body>, typename Body::S> cascade;
  for (td_long i = 0; i < n; ++i) cascade.push(source.one(i));
  return cascade.finish();
}

// Where the elements of a reduction over several axes are: in the run `number` of the last axis,
// whose first element is `start`.
struct td_run {
  td_long extent, number = 0, start = 0;
  TD_MEMBER_FN void go_to(td_long at) {
    if (at >= start && at - start < extent) return;
    number = at / extent;
    start = number * extent;
  }
};
// The states of neighbours that are lifted one by one.
template <class Wide, class One>
TD_FN typename Wide::S td_gather_states(const One& one, td_long at) {
  typename Wide::S states = Wide::identity();
  for (int i = 0; i < Wide::kWidth; ++i) Wide::set_lane(states, i, one(at + i));
  return states;
}

// Several reductions over the same elements in turn: memory is read along its rows. Each source
// gives the element i of its reductions.
template <class Body, class... One>
TD_FN void td_columns_chunk(typename Body::S* results, td_long begin, td_long n,
                            const One&... one) {
  constexpr int kLanes = Body::kLanes, kColumns = sizeof...(One);
  typename Body::S lanes[kColumns][kLanes];
  for (int c = 0; c < kColumns; ++c)
    for (int l = 0; l < kLanes; ++l) lanes[c][l] = Body::identity();
  for (td_long i = 0; i < n; ++i) {
    const int l = (int)(i % kLanes);
    int c = 0;
    ((lanes[c][l] = Body::combine(lanes[c][l], one(begin + i)), ++c), ...);
  }
  for (int c = 0; c < kColumns; ++c) {
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lanes[c][l] = Body::combine(lanes[c][l], lanes[c][l + half]);
    results[c] = lanes[c][0];
  }
}
template <class Body, class... One>
TD_FN void td_tree_columns(typename Body::S* results, td_long n, const One&... one) {
  constexpr int kColumns = sizeof...(One);
  if (n <= kReduceChunk) return td_columns_chunk<Body>(results, 0, n, one...);
  td_cascade<td_tree_combine<Body>, typename Body::S> cascades[kColumns];
  for (td_long begin = 0; begin < n; begin += kReduceChunk) {
    const td_long length = n - begin < kReduceChunk ? n - begin : kReduceChunk;
    td_columns_chunk<Body>(results, begin, length, one...);
    for (int c = 0; c < kColumns; ++c) cascades[c].push(results[c]);
  }
  for (int c = 0; c < kColumns; ++c) results[c] = cascades[c].finish();
}

TAEDA_MATH_END
