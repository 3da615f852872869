// Backward passes that are known to fail before they run.
#pragma once

#include <optional>

#include "taeda/autograd/node.h"

namespace taeda::autograd {

// The error of a backward from `root` to `inputs`, if a node on the way kept a tensor that was
// overwritten since. Visits every node behind the root; runs none, and calls no hooks. Nodes of
// custom functions, which take what they kept themselves, are not looked into.
TAEDA_API std::optional<Error> overwritten_error(const Tensor& root, Span<Tensor> inputs);

}  // namespace taeda::autograd
