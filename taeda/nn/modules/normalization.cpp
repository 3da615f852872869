// Batch and layer normalization.
#include "taeda/nn/modules/normalization.h"

#include "taeda/autograd/guards.h"
#include "taeda/nn/init.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::nn {

BatchNormBase::BatchNormBase(BatchNormOptions given) : options(std::move(given)) {
  const SymInt count = options.num_features();
  if (options.affine()) {
    weight = register_parameter("weight", taeda::ones({count}));
    bias = register_parameter("bias", taeda::zeros({count}));
  } else {
    register_parameter("weight", Tensor());
    register_parameter("bias", Tensor());
  }
  if (options.track_running_stats()) {
    running_mean = register_buffer("running_mean", taeda::zeros({count}));
    running_var = register_buffer("running_var", taeda::ones({count}));
    num_batches_tracked =
        register_buffer("num_batches_tracked", taeda::zeros(SymIntList(), DType::Int64));
  } else {
    register_buffer("running_mean", Tensor());
    register_buffer("running_var", Tensor());
    register_buffer("num_batches_tracked", Tensor());
  }
}

void BatchNormBase::reset_running_stats() {
  if (!options.track_running_stats()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

void BatchNormBase::reset_parameters() {
  reset_running_stats();
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

void BatchNormBase::print(std::ostream& stream, std::string_view name) const {
  // The number of features comes first and without its name, as in Python.
  stream << std::boolalpha << "taeda::nn::" << name << "(" << options.num_features()
         << ", eps=" << options.eps() << ", momentum=" << options.momentum().value_or(0)
         << ", affine=" << options.affine()
         << ", track_running_stats=" << options.track_running_stats() << ")";
}

Tensor BatchNormBase::forward(const Tensor& input) {
  check_input_dim(input);
  double factor = options.momentum().value_or(0);
  if (is_training() && num_batches_tracked.defined()) {
    num_batches_tracked.add_(1);
    // Without momentum the running statistics are plain means over all batches.
    if (!options.momentum()) factor = 1 / num_batches_tracked.item<double>();
  }
  const bool has_statistics = running_mean.defined();
  return taeda::batch_norm(input, weight, bias, running_mean, running_var,
                           is_training() || !has_statistics, factor, options.eps(), true);
}

void BatchNorm1dImpl::check_input_dim(const Tensor& input) const {
  TAEDA_CHECK(input.dim() == 2 || input.dim() == 3, "expected 2D or 3D input (got ", input.dim(),
              "D input)");
}

void BatchNorm2dImpl::check_input_dim(const Tensor& input) const {
  TAEDA_CHECK(input.dim() == 4, "expected 4D input (got ", input.dim(), "D input)");
}

void BatchNorm3dImpl::check_input_dim(const Tensor& input) const {
  TAEDA_CHECK(input.dim() == 5, "expected 5D input (got ", input.dim(), "D input)");
}

LayerNormImpl::LayerNormImpl(LayerNormOptions options) : options(std::move(options)) {
  LayerNormImpl::reset();
}

void LayerNormImpl::reset() {
  if (options.elementwise_affine()) {
    const SymIntVec shape(options.normalized_shape().begin(), options.normalized_shape().end());
    weight = register_parameter("weight", taeda::empty(shape));
    bias = register_parameter("bias", taeda::empty(shape));
  } else {
    weight = register_parameter("weight", Tensor());
    bias = register_parameter("bias", Tensor());
  }
  reset_parameters();
}

void LayerNormImpl::reset_parameters() {
  if (!options.elementwise_affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

void LayerNormImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "taeda::nn::LayerNorm([";
  const char* separator = "";
  for (const int64_t size : options.normalized_shape()) {
    stream << separator << size;
    separator = ", ";
  }
  stream << "], eps=" << options.eps() << ", elementwise_affine=" << options.elementwise_affine()
         << ")";
}

Tensor LayerNormImpl::forward(const Tensor& input) {
  const SymIntVec shape(options.normalized_shape().begin(), options.normalized_shape().end());
  return taeda::layer_norm(input, shape, weight, bias, options.eps());
}

}  // namespace taeda::nn
