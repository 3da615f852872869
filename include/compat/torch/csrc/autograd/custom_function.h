// torch::autograd: functions with a derivative of their own.
#pragma once

#include "ATen/ATen.h"
#include "taeda/autograd/engine.h"
#include "taeda/autograd/function.h"
#include "taeda/autograd/variable.h"

namespace torch {
namespace autograd {
using Variable = ::taeda::Tensor;
using variable_list = std::vector<::taeda::Tensor>;
using tensor_list = variable_list;
using ::taeda::autograd::AutogradContext;
using ::taeda::autograd::Function;

// The gradients of outputs with respect to inputs.
inline variable_list grad(const variable_list& outputs, const variable_list& inputs,
                          const variable_list& grad_outputs = {},
                          std::optional<bool> retain_graph = std::nullopt,
                          bool create_graph = false, bool allow_unused = false) {
  variable_list seeds = grad_outputs;
  seeds.resize(outputs.size());
  return ::taeda::autograd::run_backward(outputs, seeds, retain_graph.value_or(create_graph),
                                         create_graph, inputs, allow_unused, /*accumulate=*/false);
}
// Gradients of `outputs` into the leaves, or only into `inputs`.
inline void backward(const variable_list& outputs, const variable_list& grad_outputs = {},
                     std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                     const variable_list& inputs = {}) {
  variable_list seeds = grad_outputs;
  seeds.resize(outputs.size());
  ::taeda::autograd::run_backward(outputs, seeds, retain_graph.value_or(create_graph), create_graph,
                                  inputs, /*allow_unused=*/true);
}
}  // namespace autograd
using NoGradGuard = ::taeda::autograd::NoGrad;
using AutoGradMode = ::taeda::autograd::GradMode;
}  // namespace torch
