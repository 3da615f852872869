// Attention that a program spells out, as one operator.
//
//   scores = q @ k.mT * scale + mask
//   softmax(scores, -1) @ v            ->   attention(q, k, v, mask, scale)
//
// Note [Recognized attention]: while a program is traced a mode before autograd notes how scores
// come about: a product, numbers that it is multiplied with or divided by, masks that are added,
// places where -inf or a very small number is filled in, a softmax along the last dimension, in
// float for half types. A product of the softmax with something then becomes attention in one pass,
// where that takes these operands; where gradients are recorded, for long rows alone, since it
// computes scores again for them. It holds no matrix of scores and sums in another order, so
// results differ by rounding. Rows whose scores are all -inf, by a mask or by overflow, are NaN, as
// they are in the program; where a finite number was filled in, they are the mean of all values.
// What was spelled out is part of the trace as well, and dropped where nothing else reads it.
#pragma once

#include "taeda/dispatch/modes.h"

namespace taeda::inductor {

// For one trace.
TAEDA_API IntrusivePtr<dispatch::Mode> make_attention_finder();

}  // namespace taeda::inductor
