// torch::autograd: functions with a derivative of their own.
#pragma once

#include "ATen/ATen.h"

namespace torch {
namespace autograd {
using Variable = ::taeda::Tensor;
using variable_list = std::vector<::taeda::Tensor>;
using tensor_list = variable_list;
using ::taeda::autograd::AutogradContext;
using ::taeda::autograd::backward;
using ::taeda::autograd::Function;
using ::taeda::autograd::grad;
}  // namespace autograd
}  // namespace torch
