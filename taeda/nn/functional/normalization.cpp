// Normalizations as functions.
#include "taeda/nn/functional/normalization.h"

#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::nn::functional {
namespace {

// A statistic of a channel needs two values at least.
void check_batch_size(const Tensor& input) {
  int64_t count = input.dim() > 0 ? input.size(0) : 1;
  for (int64_t d = 2; d < input.dim(); ++d) count *= input.size(d);
  TAEDA_CHECK(count != 1, "Expected more than 1 value per channel when training, got input size ",
              input.sizes());
}

}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options) {
  TAEDA_CHECK(input.dim() >= 2, "Expected at least 2 input dimensions, but got ", input.dim());
  if (options.training()) check_batch_size(input);
  return taeda::batch_norm(input, options.weight(), options.bias(), running_mean, running_var,
                           options.training(), options.momentum(), options.eps(),
                           /*cudnn_enabled=*/true);
}

Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options) {
  return taeda::instance_norm(input, options.weight(), options.bias(), options.running_mean(),
                              options.running_var(), options.use_input_stats(), options.momentum(),
                              options.eps(), /*cudnn_enabled=*/true);
}

Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options) {
  return taeda::layer_norm(input, options.normalized_shape(), options.weight(), options.bias(),
                           options.eps());
}

Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options) {
  return taeda::rms_norm(input, options.normalized_shape(), options.weight(), options.eps());
}

Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options) {
  return taeda::group_norm(input, options.num_groups(), options.weight(), options.bias(),
                           options.eps());
}

Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options) {
  return taeda::local_response_norm(input, options.size(), options.alpha(), options.beta(),
                                    options.k());
}

Tensor cross_map_lrn2d(const Tensor& input, const CrossMapLRN2dOptions& options) {
  TAEDA_CHECK(input.dim() == 4, "CrossMapLRN2d: Expected input to be 4D, got ", input.dim(),
              "D instead.");
  return taeda::local_response_norm(input, options.size(), options.alpha(), options.beta(),
                                    options.k());
}

Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options) {
  const Tensor result = taeda::normalize(input, options.p(), {options.dim()}, options.eps());
  if (!options.out()) return result;
  Tensor out = *options.out();
  return out.copy_(result);
}

}  // namespace taeda::nn::functional
