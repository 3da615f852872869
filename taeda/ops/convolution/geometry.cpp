// Checks and sizes of convolutions.
#include "taeda/ops/convolution/geometry.h"

#include <limits>

#include "taeda/core/unbacked.h"
#include "taeda/ops/shape.h"

namespace taeda {
namespace {

SymIntVec per_dimension(SymIntList list, const char* name, int64_t spatial) {
  if (list.size() == 1) return SymIntVec(static_cast<size_t>(spatial), list[0]);
  TAEDA_CHECK(static_cast<int64_t>(list.size()) == spatial, "expected ", name,
              " to be a single integer value or a list of ", spatial,
              " values to match the convolution dimensions, but got ", name, "=", list);
  return SymIntVec(list);
}

bool any_below(SymIntList list, int64_t limit) {
  for (const SymInt& x : list)
    if (x < SymInt(limit)) return true;
  return false;
}

// "2 x 3"
std::string crossed(SymIntList sizes) {
  std::string text;
  for (const SymInt& s : sizes) text += text.empty() ? str(s) : str(" x ", s);
  return text;
}

// Integers other than int64 have no dilated and no transposed convolutions in PyTorch, which names
// the function that lacks them.
void check_dtype(DType dtype, const ConvolutionGeometry& g) {
  bool is_dilated = false;
  for (const SymInt& d : g.dilation) is_dilated = is_dilated || d != SymInt(1);
  const bool is_float = (is_floating(dtype) && !is_float8(dtype)) || is_complex(dtype);
  const bool is_small = dtype == DType::UInt8 || dtype == DType::Int8 || dtype == DType::Int16 ||
                        dtype == DType::Int32;
  if (is_float || dtype == DType::Int64 || (is_small && !g.transposed && !is_dilated)) return;
  const bool is_3d = g.spatial() == 3;
  const char* const name =
      g.transposed ? is_3d ? "slow_conv_transpose3d_out_cpu" : "slow_conv_transpose2d_out_cpu"
      : is_dilated ? "slow_conv_dilated<>"
      : is_3d      ? "compute_columns3d"
                   : "slow_conv2d_cpu";
  fail(ErrorKind::NotImplemented, "\"", name, "\" not implemented for '", dtype, "'");
}

void check_same_dtype(const Tensor& input, const Tensor& other) {
  TAEDA_CHECK(!other.defined() || other.dtype() == input.dtype(), "expected scalar type ",
              input.dtype(), " but found ", other.dtype());
}

void check_bias(const Tensor& weight, const Tensor& bias, const SymInt& channels, bool transposed) {
  if (!bias.defined()) return;
  TAEDA_CHECK(bias.dim() == 1 && bias.sym_size(0) == channels, "Given ",
              transposed ? "transposed=1, " : "", "weight of size ", weight.sym_sizes(),
              ", expected bias to be 1-dimensional with ", channels,
              " elements, but got bias of size ", bias.sym_sizes(), " instead");
}

// PyTorch counts one spatial dimension as two, the first of size 1.
void check_output_padding(const ConvolutionGeometry& g) {
  bool is_small = true;
  for (size_t d = 0; d < g.stride.size(); ++d)
    is_small =
        is_small && (g.output_padding[d] < g.stride[d] || g.output_padding[d] < g.dilation[d]);
  if (is_small) return;
  static constexpr const char* kNames[] = {"depth", "height", "width"};
  const auto listed = [&](const char* name, const SymIntVec& values, int64_t filler) {
    std::string text;
    if (values.size() == 1) text += str(" ", name, "_height: ", filler);
    for (size_t d = 0; d < values.size(); ++d)
      text += str(" ", name, "_", kNames[3 - values.size() + d], ": ", values[d]);
    return text;
  };
  fail(ErrorKind::Runtime, "output padding must be smaller than either stride or dilation, but got",
       listed("output_padding", g.output_padding, 0), listed("stride", g.stride, 1),
       listed("dilation", g.dilation, 1));
}

// A convolution that reads its padded input at least once.
void check_kernel_fits(const ConvolutionGeometry& g, const Tensor& input, const Tensor& weight) {
  SymIntVec padded, kernel;
  bool fits = true;
  for (int64_t d = 0; d < g.spatial(); ++d) {
    padded.push_back(input.sym_size(d + 2) + SymInt(2) * g.padding[d]);
    kernel.push_back(g.dilation[d] * (weight.sym_size(d + 2) - SymInt(1)) + SymInt(1));
    fits = fits && expect(SymOp::Le, kernel.back(), padded.back());
  }
  TAEDA_CHECK(fits, "Calculated padded input size per channel: (", crossed(padded),
              "). Kernel size: (", crossed(kernel),
              "). Kernel size can't be greater than actual input size");
}

// The sizes of a kernel as PyTorch's messages name them; that of a line has a height of 1.
std::string named_kernel(SymIntList kernel) {
  if (kernel.size() == 3) return str(": ", crossed(kernel), " (TxHxW)");
  const SymInt height = kernel.size() == 2 ? kernel[0] : SymInt(1);
  return str(" kernel_height: ", height, " kernel_width: ", kernel.back());
}

// Batches and channels may be none, planes and kernels may not.
void check_not_empty(const Tensor& input, const Tensor& weight) {
  const auto is_none = [](const SymInt& size) { return !size.is_symbolic() && size == SymInt(0); };
  if (is_none(input.sym_size(0)) || is_none(input.sym_size(1))) return;
  const SymIntList kernel = weight.sym_sizes().slice(2, static_cast<size_t>(weight.dim() - 2));
  for (int64_t d = 2; d < input.dim(); ++d) {
    TAEDA_CHECK(!is_none(input.sym_size(d)),
                "Only zero batch or zero channel inputs are supported, but got input shape: ",
                input.sym_sizes());
    TAEDA_CHECK(!is_none(weight.sym_size(d)), "kernel size should be greater than zero, but got",
                named_kernel(kernel));
  }
}

}  // namespace

ConvolutionGeometry::ConvolutionGeometry(const Tensor& weight, SymIntList stride,
                                         SymIntList padding, SymIntList dilation, bool transposed,
                                         SymIntList output_padding, SymInt groups)
    : transposed(transposed), groups(std::move(groups)) {
  const int64_t spatial = weight.dim() - 2;
  TAEDA_CHECK(spatial > 0, "weight should have at least three dimensions");
  TAEDA_CHECK(this->groups > SymInt(0), "non-positive groups is not supported");
  TAEDA_CHECK(spatial <= 3, "unsupported ConvNd parameters: got ", spatial,
              " spatial dimensions, expected one to three");
  this->stride = per_dimension(stride, "stride", spatial);
  this->padding = per_dimension(padding, "padding", spatial);
  this->dilation = per_dimension(dilation, "dilation", spatial);
  this->output_padding = per_dimension(output_padding, "output_padding", spatial);
}

void ConvolutionGeometry::check(const Tensor& input, const Tensor& weight,
                                const Tensor& bias) const {
  TAEDA_CHECK(!any_below(padding, 0), "negative padding is not supported");
  TAEDA_CHECK(!any_below(output_padding, 0), "negative output_padding is not supported");
  TAEDA_CHECK(!any_below(stride, 1), "non-positive stride is not supported");
  constexpr int64_t most = std::numeric_limits<int64_t>::max() / 2;
  for (size_t d = 0; d < padding.size(); ++d)
    TAEDA_CHECK(padding[d].is_symbolic() || padding[d] <= SymInt(most),
                "Given padding=", padding[d], " at dimension ", d,
                " , expected padding to be at most ", most);
  TAEDA_CHECK(!any_below(dilation, 1), "dilation should be greater than zero, but got ",
              SymIntList(dilation));
  const SymIntList sizes = weight.sym_sizes();
  TAEDA_CHECK(weight.dim() == input.dim(), "Expected ", weight.dim(), "-dimensional input for ",
              weight.dim(), "-dimensional weight ", sizes, ", but got ", input.dim(),
              "-dimensional input of size ", input.sym_sizes(), " instead");
  TAEDA_CHECK(sizes[0] >= groups, "Given groups=", groups, ", expected weight to be at least ",
              groups, " at dimension 0, but got weight of size ", sizes, " instead");
  TAEDA_CHECK(sizes[0] % groups == SymInt(0), "Given groups=", groups,
              ", expected weight to be divisible by ", groups,
              " at dimension 0, but got weight of size [", sizes, "] instead");
  const SymInt channels = transposed ? sizes[0] : sizes[1] * groups;
  if (transposed)
    TAEDA_CHECK(input.sym_size(1) == channels, "Given transposed=1, weight of size ", sizes,
                ", expected input", input.sym_sizes(), " to have ", channels, " channels, but got ",
                input.sym_size(1), " channels instead");
  else
    TAEDA_CHECK(input.sym_size(1) == channels, "Given groups=", groups, ", weight of size ", sizes,
                ", expected input", input.sym_sizes(), " to have ", channels, " channels, but got ",
                input.sym_size(1), " channels instead");
  check_bias(weight, bias, transposed ? sizes[1] * groups : sizes[0], transposed);
  if (transposed)
    check_output_padding(*this);
  else
    check_kernel_fits(*this, input, weight);
  check_not_empty(input, weight);
  check_same_dtype(input, weight);
  check_same_dtype(input, bias);
  check_dtype(input.dtype(), *this);
  const Tensor* const tensors[] = {&input, &weight, &bias};
  check_same_device("convolution", Span<const Tensor*>(tensors, bias.defined() ? 3 : 2));
}

SymIntVec ConvolutionGeometry::out_sizes(const Tensor& input, const Tensor& weight) const {
  const SymIntList sizes = weight.sym_sizes();
  SymIntVec out = {input.sym_size(0), transposed ? sizes[1] * groups : sizes[0]};
  const bool has_no_channels = !input.sym_size(1).is_symbolic() && input.sym_size(1) == SymInt(0);
  if (has_no_channels) out[1] = SymInt(0);  // as in PyTorch
  // As in PyTorch, whose kernels see no batch without elements.
  const bool has_no_batch = !input.sym_size(0).is_symbolic() && input.sym_size(0) == SymInt(0);
  const SymInt least(transposed && has_no_batch ? 0 : 1);
  bool is_empty = false;
  for (int64_t d = 0; d < spatial(); ++d) {
    const SymInt reach = dilation[d] * (sizes[d + 2] - SymInt(1));
    const SymInt in = input.sym_size(d + 2), both = SymInt(2) * padding[d];
    out.push_back(transposed
                      ? (in - SymInt(1)) * stride[d] - both + reach + output_padding[d] + SymInt(1)
                      : (in + both - reach - SymInt(1)) / stride[d] + SymInt(1));
    is_empty = is_empty || out.back() < least;
  }
  TAEDA_CHECK(!is_empty, "Given input size per channel: (",
              crossed(SymIntList(input.sym_sizes().data() + 2, static_cast<size_t>(spatial()))),
              "). Calculated output size per channel: (",
              crossed(SymIntList(out.data() + 2, static_cast<size_t>(spatial()))),
              "). Output size is too small");
  return out;
}

MemoryFormat convolution_format(const Tensor& input, const Tensor& weight) {
  const auto has = [&](MemoryFormat format) {
    return input.suggested_format() == format || weight.suggested_format() == format;
  };
  if (input.dim() == 4 && has(MemoryFormat::ChannelsLast)) return MemoryFormat::ChannelsLast;
  const bool is_narrow = input.dtype() == DType::Float || is_reduced_float(input.dtype());
  if (input.dim() == 5 && is_narrow && has(MemoryFormat::ChannelsLast3d))
    return MemoryFormat::ChannelsLast3d;
  return MemoryFormat::Contiguous;
}

}  // namespace taeda
