// torch::autograd: functions with a derivative of their own.
#pragma once

#include "ATen/ATen.h"

namespace taeda::autograd {
using Variable = Tensor;
using variable_list = std::vector<Tensor>;
using tensor_list = variable_list;
}  // namespace taeda::autograd

namespace torch {
// The same namespace, so that `autograd` is one name below `using namespace torch`.
namespace autograd = ::taeda::autograd;
}  // namespace torch
