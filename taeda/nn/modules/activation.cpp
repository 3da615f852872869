// Activations with tensors or a state of their own.
#include "taeda/nn/modules/activation.h"

#include "taeda/ops/functions.h"

namespace taeda::nn {

Tensor Softmax2dImpl::forward(const Tensor& input) {
  TAEDA_CHECK(input.dim() == 4 || input.dim() == 3,
              "Softmax2d requires a 3D or 4D tensor as input");
  return functional::softmax(input, -3);
}

Tensor RReLUImpl::forward(Tensor input) {
  return functional::rrelu(std::move(input), functional::RReLUFuncOptions()
                                                 .lower(options.lower())
                                                 .upper(options.upper())
                                                 .inplace(options.inplace())
                                                 .training(is_training()));
}

PReLUImpl::PReLUImpl(const PReLUOptions& options) : OptionModule(options) { PReLUImpl::reset(); }

void PReLUImpl::reset() {
  const SymInt count = options.num_parameters();
  weight = register_parameter("weight", taeda::full({count}, options.init()));
}

Tensor PReLUImpl::forward(const Tensor& input) { return functional::prelu(input, weight); }

}  // namespace taeda::nn
