// What normalizations of channels share: weight, bias and running statistics. In a header, so that
// layers of other programs can be made of it.
#pragma once

#include <optional>
#include <utility>

#include "taeda/nn/init.h"
#include "taeda/nn/layer.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {

template <class Derived, class Options>
class ChannelNorm : public OptionModule<Derived, Options> {
 public:
  void reset() override {
    const SymInt count = this->options.num_features();
    const bool is_affine = this->options.affine(), is_tracked = this->options.track_running_stats();
    weight = this->register_parameter("weight", is_affine ? taeda::ones({count}) : Tensor());
    bias = this->register_parameter("bias", is_affine ? taeda::zeros({count}) : Tensor());
    running_mean =
        this->register_buffer("running_mean", is_tracked ? taeda::zeros({count}) : Tensor());
    running_var =
        this->register_buffer("running_var", is_tracked ? taeda::ones({count}) : Tensor());
    num_batches_tracked = this->register_buffer(
        "num_batches_tracked", is_tracked ? taeda::zeros(SymIntList(), DType::Int64) : Tensor());
  }

  void reset_running_stats() {
    if (!running_mean.defined()) return;
    running_mean.zero_();
    running_var.fill_(1);
    num_batches_tracked.zero_();
  }

  void reset_parameters() {
    reset_running_stats();
    if (!weight.defined()) return;
    init::ones_(weight);
    init::zeros_(bias);
  }

  void pretty_print(std::ostream& stream) const override {
    const std::optional<double> momentum = this->options.momentum();
    print_layer(stream, *this, Field{"", this->options.num_features()},
                Field{"eps", this->options.eps()},
                Field{"momentum", momentum.value_or(0), momentum.has_value()},
                Field{"momentum", "None", !momentum}, Field{"affine", this->options.affine()},
                Field{"track_running_stats", this->options.track_running_stats()});
  }

  Tensor weight, bias;
  Tensor running_mean, running_var, num_batches_tracked;

 protected:
  explicit ChannelNorm(Options options) : OptionModule<Derived, Options>(std::move(options)) {
    ChannelNorm::reset();
  }
};

}  // namespace taeda::nn
