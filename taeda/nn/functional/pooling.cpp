// Pooling as functions.
#include "taeda/nn/functional/pooling.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/pooling/functions.h"

namespace taeda::nn::functional {
namespace {

// Sizes with those of the input where none are given.
template <size_t D>
std::vector<int64_t> sizes_of(const ExpandingArrayWithOptionalElem<D>& wanted,
                              const Tensor& input) {
  TAEDA_CHECK(input.dim() > static_cast<int64_t>(D), "Input dimension should be at least ", D + 1);
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < D; ++d) {
    sizes.push_back(
        (*wanted)[d].value_or(input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D))));
  }
  return sizes;
}

template <size_t D>
std::vector<int64_t> fractional_size(const Tensor& input,
                                     const FractionalMaxPoolOptions<D>& options) {
  TAEDA_CHECK(options.output_size() || options.output_ratio(), "fractional_max_pool", D,
              "d requires specifying either an output_size or an output_ratio");
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < D; ++d) {
    const int64_t size = input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D));
    sizes.push_back(options.output_size() ? (**options.output_size())[d]
                                          : static_cast<int64_t>(static_cast<double>(size) *
                                                                 (**options.output_ratio())[d]));
  }
  return sizes;
}

// The places of the windows: given, or drawn per example and channel.
template <size_t D>
Tensor samples_of(const Tensor& input, const FractionalMaxPoolOptions<D>& options) {
  if (options._random_samples().defined()) return options._random_samples();
  constexpr int64_t rank = static_cast<int64_t>(D);
  const int64_t batch = input.dim() == rank + 1 ? 1 : input.size(0);
  return taeda::rand({SymInt(batch), SymInt(input.size(-rank - 1)), SymInt(rank)}, input.dtype(),
                     std::nullopt, input.device());
}

template <size_t D>
std::vector<int64_t> unpooled_size(const Tensor& input, const MaxUnpoolFuncOptions<D>& options) {
  std::vector<int64_t> full;
  for (size_t d = 0; d < D; ++d) {
    const int64_t size = input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D));
    full.push_back((size - 1) * (*options.stride())[d] + (*options.kernel_size())[d] -
                   2 * (*options.padding())[d]);
  }
  if (!options.output_size()) return full;
  const std::vector<int64_t>& given = *options.output_size();
  TAEDA_CHECK(given.size() == D || given.size() == D + 2,
              "output_size should be a sequence containing ", D, " or ", D + 2,
              " elements, but it has a length of '", given.size(), "'");
  const std::vector<int64_t> wanted(given.end() - D, given.end());
  for (size_t d = 0; d < D; ++d) {
    const int64_t least = full[d] - (*options.stride())[d], most = full[d] + (*options.stride())[d];
    TAEDA_CHECK(least <= wanted[d] && wanted[d] <= most, "invalid output_size ", IntList(wanted),
                " (dim ", d, " must be between ", least, " and ", most, ")");
  }
  return wanted;
}

}  // namespace

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options) {
  return taeda::avg_pool1d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.ceil_mode(), options.count_include_pad());
}

Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options) {
  return taeda::avg_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.ceil_mode(), options.count_include_pad(),
                           options.divisor_override());
}

Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& options) {
  return taeda::avg_pool3d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.ceil_mode(), options.count_include_pad(),
                           options.divisor_override());
}

Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options) {
  return taeda::max_pool1d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.dilation(), options.ceil_mode());
}

Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options) {
  return taeda::max_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.dilation(), options.ceil_mode());
}

Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& options) {
  return taeda::max_pool3d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.dilation(), options.ceil_mode());
}

TensorPair max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& options) {
  return taeda::max_pool1d_with_indices(input, options.kernel_size(), options.stride(),
                                        options.padding(), options.dilation(), options.ceil_mode());
}

TensorPair max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& options) {
  return taeda::max_pool2d_with_indices(input, options.kernel_size(), options.stride(),
                                        options.padding(), options.dilation(), options.ceil_mode());
}

TensorPair max_pool3d_with_indices(const Tensor& input, const MaxPool3dFuncOptions& options) {
  return taeda::max_pool3d_with_indices(input, options.kernel_size(), options.stride(),
                                        options.padding(), options.dilation(), options.ceil_mode());
}

Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options) {
  return taeda::adaptive_avg_pool1d(input, options.output_size());
}

Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options) {
  return taeda::adaptive_avg_pool2d(input, sizes_of(options.output_size(), input));
}

Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& options) {
  return taeda::adaptive_avg_pool3d(input, sizes_of(options.output_size(), input));
}

TensorPair adaptive_max_pool1d_with_indices(const Tensor& input,
                                            const AdaptiveMaxPool1dFuncOptions& options) {
  return taeda::adaptive_max_pool1d(input, options.output_size());
}

Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool1d_with_indices(input, options));
}

TensorPair adaptive_max_pool2d_with_indices(const Tensor& input,
                                            const AdaptiveMaxPool2dFuncOptions& options) {
  return taeda::adaptive_max_pool2d(input, sizes_of(options.output_size(), input));
}

Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, options));
}

TensorPair adaptive_max_pool3d_with_indices(const Tensor& input,
                                            const AdaptiveMaxPool3dFuncOptions& options) {
  return taeda::adaptive_max_pool3d(input, sizes_of(options.output_size(), input));
}

Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool3d_with_indices(input, options));
}

TensorPair fractional_max_pool2d_with_indices(const Tensor& input,
                                              const FractionalMaxPool2dFuncOptions& options) {
  return taeda::fractional_max_pool2d(input, options.kernel_size(), fractional_size(input, options),
                                      samples_of(input, options));
}

Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& options) {
  return std::get<0>(fractional_max_pool2d_with_indices(input, options));
}

TensorPair fractional_max_pool3d_with_indices(const Tensor& input,
                                              const FractionalMaxPool3dFuncOptions& options) {
  return taeda::fractional_max_pool3d(input, options.kernel_size(), fractional_size(input, options),
                                      samples_of(input, options));
}

Tensor fractional_max_pool3d(const Tensor& input, const FractionalMaxPool3dFuncOptions& options) {
  return std::get<0>(fractional_max_pool3d_with_indices(input, options));
}

Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options) {
  return taeda::lp_pool1d(input, options.norm_type(), options.kernel_size(), options.stride(),
                          options.ceil_mode());
}

Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options) {
  return taeda::lp_pool2d(input, options.norm_type(), options.kernel_size(), options.stride(),
                          options.ceil_mode());
}

Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& options) {
  return taeda::lp_pool3d(input, options.norm_type(), options.kernel_size(), options.stride(),
                          options.ceil_mode());
}

Tensor max_unpool1d(const Tensor& input, const Tensor& indices,
                    const MaxUnpool1dFuncOptions& options) {
  return taeda::max_unpool1d(input, indices, unpooled_size(input, options));
}

Tensor max_unpool2d(const Tensor& input, const Tensor& indices,
                    const MaxUnpool2dFuncOptions& options) {
  return taeda::max_unpool2d(input, indices, unpooled_size(input, options));
}

Tensor max_unpool3d(const Tensor& input, const Tensor& indices,
                    const MaxUnpool3dFuncOptions& options) {
  return taeda::max_unpool3d(input, indices, unpooled_size(input, options), options.stride(),
                             options.padding());
}

}  // namespace taeda::nn::functional
