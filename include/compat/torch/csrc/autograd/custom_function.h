// torch::autograd: functions with a derivative of their own.
#pragma once

#include "ATen/ATen.h"

// PyTorch's names lie beside the library's: programs that are `using namespace torch` see both
// namespaces called autograd, so they must be one.
namespace taeda::autograd {
using Variable = Tensor;
using variable_list = std::vector<Tensor>;
using tensor_list = variable_list;
using edge_list = std::vector<Edge>;
}  // namespace taeda::autograd

namespace torch {
namespace autograd = ::taeda::autograd;
}
