// Convolutions.
#include "taeda/nn/modules/conv.h"

#include "taeda/nn/functional/padding.h"

namespace taeda::nn {
namespace {

template <size_t D>
detail::ConvNdOptions<D> shared_options(const ConvOptions<D>& options) {
  return detail::ConvNdOptions<D>(options.in_channels(), options.out_channels(),
                                  options.kernel_size())
      .stride(options.stride())
      .padding(options.padding())
      .dilation(options.dilation())
      .groups(options.groups())
      .bias(options.bias())
      .padding_mode(options.padding_mode());
}

template <size_t D>
detail::ConvNdOptions<D> shared_options(const ConvTransposeOptions<D>& options) {
  return detail::ConvNdOptions<D>(options.in_channels(), options.out_channels(),
                                  options.kernel_size())
      .stride(options.stride())
      .padding(options.padding())
      .dilation(options.dilation())
      .transposed(true)
      .output_padding(options.output_padding())
      .groups(options.groups())
      .bias(options.bias())
      .padding_mode(options.padding_mode());
}

Tensor convolve(const Tensor& x, const Tensor& w, const functional::Conv1dFuncOptions& options) {
  return functional::conv1d(x, w, options);
}
Tensor convolve(const Tensor& x, const Tensor& w, const functional::Conv2dFuncOptions& options) {
  return functional::conv2d(x, w, options);
}
Tensor convolve(const Tensor& x, const Tensor& w, const functional::Conv3dFuncOptions& options) {
  return functional::conv3d(x, w, options);
}
Tensor convolve(const Tensor& x, const Tensor& w,
                const functional::ConvTranspose1dFuncOptions& options) {
  return functional::conv_transpose1d(x, w, options);
}
Tensor convolve(const Tensor& x, const Tensor& w,
                const functional::ConvTranspose2dFuncOptions& options) {
  return functional::conv_transpose2d(x, w, options);
}
Tensor convolve(const Tensor& x, const Tensor& w,
                const functional::ConvTranspose3dFuncOptions& options) {
  return functional::conv_transpose3d(x, w, options);
}

// The mode as `pad` names it, which has no zeros.
functional::PadFuncOptions::mode_t pad_mode(const detail::conv_padding_mode_t& mode) {
  if (std::holds_alternative<enumtype::kReflect>(mode)) return kReflect;
  if (std::holds_alternative<enumtype::kReplicate>(mode)) return kReplicate;
  return kCircular;
}

}  // namespace

template <size_t D, class Derived>
Convolution<D, Derived>::Convolution(const ConvOptions<D>& options)
    : ConvNdImpl<D, Derived>(shared_options(options)) {}

template <size_t D, class Derived>
Tensor Convolution<D, Derived>::forward(const Tensor& input) {
  const auto& o = this->options;
  auto call = functional::ConvFuncOptions<D>()
                  .bias(this->bias)
                  .stride(o.stride())
                  .padding(o.padding())
                  .dilation(o.dilation())
                  .groups(o.groups());
  if (std::holds_alternative<enumtype::kZeros>(o.padding_mode())) {
    return convolve(input, this->weight, call);
  }
  const auto pad = functional::PadFuncOptions(this->_reversed_padding_repeated_twice)
                       .mode(pad_mode(o.padding_mode()));
  return convolve(functional::pad(input, pad), this->weight, call.padding(ExpandingArray<D>(0)));
}

template <size_t D, class Derived>
TransposedConvolution<D, Derived>::TransposedConvolution(const ConvTransposeOptions<D>& options)
    : ConvNdImpl<D, Derived>(shared_options(options)) {}

template <size_t D, class Derived>
ExpandingArray<D> TransposedConvolution<D, Derived>::output_padding(
    const Tensor& input, const std::optional<IntList>& size) const {
  const auto& o = this->options;
  if (!size) return o.output_padding();
  const auto rank = static_cast<size_t>(input.dim());
  const size_t others = rank == D + 2 ? 2 : 1;
  TAEDA_CHECK(size->size() == D || size->size() == D + others, "ConvTranspose", D, "D: for ", rank,
              "D input, output_size must have ", D, " or ", D + others, " elements (got ",
              size->size(), ")");
  const IntList wanted = size->slice(size->size() - D, D);
  ExpandingArray<D> added(0);
  std::vector<int64_t> smallest, largest;
  bool fits = true;
  for (size_t d = 0; d < D; ++d) {
    const int64_t stride = (*o.stride())[d];
    const int64_t padding = (*std::get<ExpandingArray<D>>(o.padding()))[d];
    const int64_t kernel = (*o.dilation())[d] * ((*o.kernel_size())[d] - 1) + 1;
    smallest.push_back((input.size(static_cast<int64_t>(d + others)) - 1) * stride - 2 * padding +
                       kernel);
    largest.push_back(smallest[d] + stride - 1);
    fits = fits && smallest[d] <= wanted[d] && wanted[d] <= largest[d];
    (*added)[d] = wanted[d] - smallest[d];
  }
  TAEDA_CHECK(fits, "requested an output size of ", wanted, ", but valid sizes range from ",
              IntList(smallest), " to ", IntList(largest), " (for an input of ",
              input.sizes().drop_front(others), ")");
  return added;
}

template <size_t D, class Derived>
Tensor TransposedConvolution<D, Derived>::forward(const Tensor& input,
                                                  const std::optional<IntList>& output_size) {
  const auto& o = this->options;
  TAEDA_CHECK(std::holds_alternative<enumtype::kZeros>(o.padding_mode()),
              "Only `zeros` padding mode is supported for ConvTranspose", D, "d");
  return convolve(input, this->weight,
                  functional::ConvTransposeFuncOptions<D>()
                      .bias(this->bias)
                      .stride(o.stride())
                      .padding(std::get<ExpandingArray<D>>(o.padding()))
                      .output_padding(output_padding(input, output_size))
                      .groups(o.groups())
                      .dilation(o.dilation()));
}

template class ConvNdImpl<1, Conv1dImpl>;
template class ConvNdImpl<2, Conv2dImpl>;
template class ConvNdImpl<3, Conv3dImpl>;
template class ConvNdImpl<1, ConvTranspose1dImpl>;
template class ConvNdImpl<2, ConvTranspose2dImpl>;
template class ConvNdImpl<3, ConvTranspose3dImpl>;
template class Convolution<1, Conv1dImpl>;
template class Convolution<2, Conv2dImpl>;
template class Convolution<3, Conv3dImpl>;
template class TransposedConvolution<1, ConvTranspose1dImpl>;
template class TransposedConvolution<2, ConvTranspose2dImpl>;
template class TransposedConvolution<3, ConvTranspose3dImpl>;

}  // namespace taeda::nn
