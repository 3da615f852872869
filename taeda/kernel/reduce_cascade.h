// Results of blocks as the result of all of them, for generated code.
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

TAEDA_MATH_END
