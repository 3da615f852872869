// Batch norms in evaluation as part of the convolution before them.
//
//   y = conv2d(x, weight, bias)                     scale = norm_weight / sqrt(variance + eps)
//   batch_norm(y, ..., mean, variance)      ->      conv2d(x, weight * scale,
//                                                          (bias - mean) * scale + norm_bias)
//
// Note [Folded norms]: a norm in evaluation multiplies each channel by a number and adds another,
// as filters and bias can do. They are computed from what is frozen, so once (Note [Frozen
// inputs]). Results differ by rounding. The mode sees a program before autograd, while it is
// traced, and leaves traces with gradients alone. The convolution that the program spells out is
// part of the trace as well, and dropped where nothing else reads it.
#pragma once

#include "taeda/dispatch/modes.h"

namespace taeda::inductor {

// For one trace; `next` is offered what this mode does not take, and may be null.
TAEDA_API IntrusivePtr<dispatch::Mode> make_norm_folder(IntrusivePtr<dispatch::Mode> next);

}  // namespace taeda::inductor
