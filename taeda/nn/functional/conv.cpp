// Convolutions as functions.
#include "taeda/nn/functional/conv.h"

#include "taeda/ops/convolution/functions.h"

namespace taeda::nn::functional {
namespace {

using WithNumbers = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, SymIntList, SymIntList,
                               SymIntList, SymInt);
using WithName = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, SymIntList,
                            std::string_view, SymIntList, SymInt);

template <size_t D>
Tensor convolved(const Tensor& input, const Tensor& weight, const ConvFuncOptions<D>& options,
                 WithNumbers numbers, WithName name) {
  if (const auto* padding = std::get_if<ExpandingArray<D>>(&options.padding())) {
    return numbers(input, weight, options.bias(), options.stride(), *padding, options.dilation(),
                   options.groups());
  }
  const bool is_same = std::holds_alternative<enumtype::kSame>(options.padding());
  return name(input, weight, options.bias(), options.stride(), is_same ? "same" : "valid",
              options.dilation(), options.groups());
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options) {
  return convolved(input, weight, options, taeda::conv1d, taeda::conv1d);
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options) {
  return convolved(input, weight, options, taeda::conv2d, taeda::conv2d);
}

Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options) {
  return convolved(input, weight, options, taeda::conv3d, taeda::conv3d);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose1dFuncOptions& options) {
  return taeda::conv_transpose1d(input, weight, options.bias(), options.stride(), options.padding(),
                                 options.output_padding(), options.groups(), options.dilation());
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose2dFuncOptions& options) {
  return taeda::conv_transpose2d(input, weight, options.bias(), options.stride(), options.padding(),
                                 options.output_padding(), options.groups(), options.dilation());
}

Tensor conv_transpose3d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose3dFuncOptions& options) {
  return taeda::conv_transpose3d(input, weight, options.bias(), options.stride(), options.padding(),
                                 options.output_padding(), options.groups(), options.dilation());
}

}  // namespace taeda::nn::functional
