// Batch, instance, layer and group normalization.
#include "taeda/nn/modules/normalization.h"

#include "taeda/nn/init.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {

LayerNormImpl::LayerNormImpl(LayerNormOptions options) : OptionModule(std::move(options)) {
  LayerNormImpl::reset();
}

void LayerNormImpl::reset() {
  const SymIntList shape(options.normalized_shape());
  const bool is_affine = options.elementwise_affine();
  weight = register_parameter("weight", is_affine ? taeda::empty(shape) : Tensor());
  bias = register_parameter("bias", is_affine ? taeda::empty(shape) : Tensor());
  reset_parameters();
}

void LayerNormImpl::reset_parameters() {
  if (!weight.defined()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

Tensor LayerNormImpl::forward(const Tensor& input) {
  return functional::layer_norm(input, functional::LayerNormFuncOptions(options.normalized_shape())
                                           .weight(weight)
                                           .bias(bias)
                                           .eps(options.eps()));
}

RMSNormImpl::RMSNormImpl(RMSNormOptions options) : OptionModule(std::move(options)) {
  RMSNormImpl::reset();
}

void RMSNormImpl::reset() {
  const SymIntList shape(options.normalized_shape());
  weight =
      register_parameter("weight", options.elementwise_affine() ? taeda::empty(shape) : Tensor());
  reset_parameters();
}

void RMSNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
}

Tensor RMSNormImpl::forward(const Tensor& input) {
  return functional::rms_norm(
      input,
      functional::RMSNormFuncOptions(options.normalized_shape()).weight(weight).eps(options.eps()));
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& options) : OptionModule(options) {
  GroupNormImpl::reset();
}

void GroupNormImpl::reset() {
  const SymInt count = options.num_channels();
  weight = register_parameter("weight", options.affine() ? taeda::empty({count}) : Tensor());
  bias = register_parameter("bias", options.affine() ? taeda::empty({count}) : Tensor());
  reset_parameters();
}

void GroupNormImpl::reset_parameters() {
  if (!weight.defined()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

Tensor GroupNormImpl::forward(const Tensor& input) {
  return functional::group_norm(input, functional::GroupNormFuncOptions(options.num_groups())
                                           .weight(weight)
                                           .bias(bias)
                                           .eps(options.eps()));
}

template class BatchNormLayer<2, 3, BatchNorm1dImpl>;
template class BatchNormLayer<4, 4, BatchNorm2dImpl>;
template class BatchNormLayer<5, 5, BatchNorm3dImpl>;
template class InstanceNormLayer<2, 3, InstanceNorm1dImpl>;
template class InstanceNormLayer<3, 4, InstanceNorm2dImpl>;
template class InstanceNormLayer<4, 5, InstanceNorm3dImpl>;

}  // namespace taeda::nn
