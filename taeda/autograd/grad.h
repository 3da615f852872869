// autograd::grad and autograd::backward: gradients of lists of tensors.
//
//   std::vector<Tensor> g = autograd::grad({loss}, {w, b});
#pragma once

#include <optional>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::autograd {

// The gradients of `outputs`, weighted by `grad_outputs` (one where it is left out), with respect
// to `inputs`. The graph is let go unless it is kept or another one is made of the run. An input
// that the outputs do not depend on is an error, or undefined where `allow_unused`.
TAEDA_API std::vector<Tensor> grad(const std::vector<Tensor>& outputs,
                                   const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& grad_outputs = {},
                                   std::optional<bool> retain_graph = std::nullopt,
                                   bool create_graph = false, bool allow_unused = false);

// The same added to the leaves' grad, or only to that of `inputs`.
TAEDA_API void backward(const std::vector<Tensor>& outputs,
                        const std::vector<Tensor>& grad_outputs = {},
                        std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                        const std::vector<Tensor>& inputs = {});

}  // namespace taeda::autograd
