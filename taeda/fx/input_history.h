// Histories of fake inputs that stand for tensors which are no leaves.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::fx {

// Gives the tensor a history, so that it may be written to; gradients go to the leaf.
TAEDA_API void pass_gradients_to(const Tensor& t, const Tensor& leaf);
// The same with a leaf of its own, which nobody sees, where `like` requires a gradient and is no
// leaf: the fake tensor is none, either.
TAEDA_API void match_history(const Tensor& fake, const Tensor& like);

}  // namespace taeda::fx
