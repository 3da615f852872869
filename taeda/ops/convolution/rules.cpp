// Shape rules of convolutions, and the operators that put their arguments into its form.
#include "taeda/base/log.h"
#include "taeda/ops/convolution/declarations.h"
#include "taeda/ops/convolution/functions.h"
#include "taeda/ops/convolution/geometry.h"
#include "taeda/ops/cpp_name.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

OutSpec spec_in(MemoryFormat format, SymIntList sizes, const Tensor& like) {
  OutSpec spec(sizes, like.dtype(), like.device());
  if (format != MemoryFormat::Contiguous) spec.strides = channels_last_strides(sizes);
  return spec;
}

// The input with a batch in front, which an example alone gets.
struct Batchified {
  Tensor input;
  bool is_batched;

  Batchified(const Tensor& given, int64_t spatial, const char* op)
      : input(given), is_batched(given.dim() == spatial + 2) {
    TAEDA_CHECK(is_batched || given.dim() == spatial + 1, "Expected ", spatial + 1,
                "D (unbatched) or ", spatial + 2, "D (batched) input to ", op,
                ", but got input of size: ", given.sym_sizes());
    if (!is_batched) input = given.unsqueeze(0);
  }
  Tensor back(const Tensor& out) const { return is_batched ? out : out.squeeze(0); }
};

void check_bias_dtype(const Tensor& input, const Tensor& bias) {
  TAEDA_CHECK(!bias.defined() || bias.dtype() == input.dtype(), "Input type (",
              cpp_name(input.dtype()), ") and bias type (", cpp_name(bias.dtype()),
              ") should be the same");
}

Tensor plain(int64_t spatial, const char* op, const Tensor& input, const Tensor& weight,
             const Tensor& bias, SymIntList stride, SymIntList padding, SymIntList dilation,
             SymInt groups) {
  check_bias_dtype(input, bias);
  const Batchified x(input, spatial, op);
  return x.back(taeda::convolution(x.input, weight, bias, stride, padding, dilation, false,
                                   {SymInt(0)}, std::move(groups)));
}

Tensor by_name(int64_t spatial, const char* op, const Tensor& input, const Tensor& weight,
               const Tensor& bias, SymIntList stride, std::string_view padding, SymIntList dilation,
               SymInt groups) {
  const Batchified x(input, spatial, op);
  return x.back(taeda::_convolution_mode(x.input, weight, bias, stride, padding, dilation,
                                         std::move(groups)));
}

Tensor transpose(int64_t spatial, const char* op, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, SymIntList stride, SymIntList padding,
                 SymIntList output_padding, SymInt groups, SymIntList dilation) {
  const Batchified x(input, spatial, op);
  return x.back(taeda::convolution(x.input, weight, bias, stride, padding, dilation, true,
                                   output_padding, std::move(groups)));
}

// Results have the input's sizes. Where the padding is odd the end gets one row more.
Tensor convolution_same(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        SymIntList stride, SymIntList dilation, const SymInt& groups) {
  const int64_t spatial = weight.dim() - 2;
  TAEDA_CHECK(spatial > 0, "weight should have at least three dimensions");
  TAEDA_CHECK(groups > SymInt(0), "non-positive groups is not supported");
  TAEDA_CHECK(weight.dim() == input.dim(), "Expected ", weight.dim(), "-dimensional input for ",
              weight.dim(), "-dimensional weight", weight.sym_sizes(), ", but got ", input.dim(),
              "-dimensional input of size ", input.sym_sizes(), " instead");
  const auto check_broadcasts = [&](SymIntList list, const char* name) {
    TAEDA_CHECK(static_cast<int64_t>(list.size()) == spatial || list.size() == 1, name,
                " cannot broadcast to ", spatial, " dimensions");
  };
  check_broadcasts(stride, "stride");
  check_broadcasts(dilation, "dilation");
  for (const SymInt& s : stride)
    TAEDA_CHECK(s == SymInt(1), "padding='same' is not supported for strided convolutions");
  SymIntVec padding;
  Tensor padded = input;
  for (int64_t d = 0; d < spatial; ++d) {
    const SymInt total =
        (dilation.size() == 1 ? dilation[0] : dilation[d]) * (weight.sym_size(d + 2) - SymInt(1));
    padding.push_back(total / SymInt(2));
    if (total % SymInt(2) == SymInt(0)) continue;
    SymIntVec sizes(padded.sym_sizes());
    sizes[d + 2] = SymInt(1);
    const Tensor zeros = taeda::zeros(sizes, input.dtype(), {}, input.device());
    padded = taeda::cat({padded, zeros}, d + 2);
  }
  if (!padded.is_same(input)) {
    static const bool is_told = [] {
      warn(
          "Using padding='same' with even kernel lengths and odd dilation may require a "
          "zero-padded copy of the input be created");
      return true;
    }();
    (void)is_told;
  }
  return taeda::convolution(padded, weight, bias, stride, padding, dilation, false, {SymInt(0)},
                            groups);
}

}  // namespace

OutSpec convolution_spec(const Tensor& input, const Tensor& weight, const Tensor& bias,
                         SymIntList stride, SymIntList padding, SymIntList dilation,
                         bool transposed, SymIntList output_padding, SymInt groups) {
  const ConvolutionGeometry g(weight, stride, padding, dilation, transposed, output_padding,
                              std::move(groups));
  g.check(input, weight, bias);
  return spec_in(convolution_format(input, weight), g.out_sizes(input, weight), input);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward_meta(
    const Tensor& grad_output, const Tensor& input, const Tensor& weight, std::optional<SymIntList>,
    SymIntList stride, SymIntList padding, SymIntList dilation, bool transposed,
    SymIntList output_padding, SymInt groups, Span<bool> output_mask) {
  const ConvolutionGeometry g(weight, stride, padding, dilation, transposed, output_padding,
                              std::move(groups));
  g.check(input, weight, Tensor());
  if (!transposed)
    for (const SymInt& pad : g.output_padding)
      TAEDA_CHECK(pad == SymInt(0),
                  "output_padding is not supported for non-transposed convolutions; got: ",
                  SymIntList(g.output_padding));
  const SymIntVec expected = g.out_sizes(input, weight);
  TAEDA_CHECK(grad_output.sym_sizes() == SymIntList(expected),
              "[convolution_backward] sizes differ: got a gradient of ", grad_output.sym_sizes(),
              ", expected ", SymIntList(expected));
  TAEDA_CHECK(grad_output.dtype() == input.dtype(), "expected scalar type ", input.dtype(),
              " but found ", grad_output.dtype());
  TAEDA_CHECK(output_mask.size() == 3, "[convolution_backward] output_mask: got ",
              output_mask.size(), " entries, expected three");
  const MemoryFormat format = convolution_format(input, weight);
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0]) grad_input = spec_in(format, input.sym_sizes(), input).allocate();
  if (output_mask[1]) grad_weight = spec_in(format, weight.sym_sizes(), weight).allocate();
  if (output_mask[2]) {
    // Images without channels have a result without channels, whatever the filters make of them.
    const SymInt channels = transposed ? weight.sym_size(1) * g.groups : weight.sym_size(0);
    grad_bias = OutSpec({channels}, input.dtype(), input.device()).allocate();
  }
  return {grad_input, grad_weight, grad_bias};
}

Tensor _convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                    SymIntList stride, SymIntList padding, SymIntList dilation, bool transposed,
                    SymIntList output_padding, SymInt groups, bool, bool, bool, bool) {
  return taeda::convolution(input, weight, bias, stride, padding, dilation, transposed,
                            output_padding, std::move(groups));
}

Tensor _convolution_mode(const Tensor& input, const Tensor& weight, const Tensor& bias,
                         SymIntList stride, std::string_view padding, SymIntList dilation,
                         SymInt groups) {
  if (padding == "same") return convolution_same(input, weight, bias, stride, dilation, groups);
  TAEDA_CHECK(padding == "valid", "Invalid padding string: '", padding, "'");
  return taeda::convolution(input, weight, bias, stride, {SymInt(0)}, dilation, false, {SymInt(0)},
                            std::move(groups));
}

#define TAEDA_CONVOLUTIONS(n, transposed_ident)                                                  \
  Tensor conv##n##d(const Tensor& input, const Tensor& weight, const Tensor& bias,               \
                    SymIntList stride, SymIntList padding, SymIntList dilation, SymInt groups) { \
    return plain(n, "conv" #n "d", input, weight, bias, stride, padding, dilation,               \
                 std::move(groups));                                                             \
  }                                                                                              \
  Tensor conv##n##d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias,       \
                            SymIntList stride, std::string_view padding, SymIntList dilation,    \
                            SymInt groups) {                                                     \
    return by_name(n, "conv" #n "d", input, weight, bias, stride, padding, dilation,             \
                   std::move(groups));                                                           \
  }                                                                                              \
  Tensor transposed_ident(const Tensor& input, const Tensor& weight, const Tensor& bias,         \
                          SymIntList stride, SymIntList padding, SymIntList output_padding,      \
                          SymInt groups, SymIntList dilation) {                                  \
    return transpose(n, "conv_transpose" #n "d", input, weight, bias, stride, padding,           \
                     output_padding, std::move(groups), dilation);                               \
  }
TAEDA_CONVOLUTIONS(1, conv_transpose1d)
TAEDA_CONVOLUTIONS(2, conv_transpose2d_input)
TAEDA_CONVOLUTIONS(3, conv_transpose3d_input)
#undef TAEDA_CONVOLUTIONS

Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  TAEDA_CHECK(self.dim() == 3, "Input must have 3 dims: time, batch, in_channel");
  TAEDA_CHECK(weight.dim() == 3,
              "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.");
  TAEDA_CHECK(bias.dim() == 1, "Bias must be 1-D");
  TAEDA_CHECK(self.sym_size(2) == weight.sym_size(1),
              "Input dim 2 (input channels) is not == dim 1 in the weight tensor");
  TAEDA_CHECK(weight.sym_size(2) == bias.sym_size(0),
              "Bias size must equal dim 2 in the weight tensor (output channels).");
  const Tensor out =
      taeda::convolution(self.permute({1, 2, 0}), weight.permute({2, 1, 0}), bias, {SymInt(1)},
                         {SymInt(pad)}, {SymInt(1)}, false, {SymInt(0)}, SymInt(1));
  return out.permute({2, 0, 1}).contiguous();
}

}  // namespace taeda::impl
