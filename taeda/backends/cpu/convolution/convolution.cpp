// convolution and convolution_backward on the CPU: which kernel computes which of them.
#include "taeda/backends/cpu/convert_declarations.h"
#include "taeda/backends/cpu/convolution/depthwise.h"
#include "taeda/backends/cpu/convolution/library.h"
#include "taeda/backends/cpu/convolution/plan_operator.h"
#include "taeda/backends/cpu/convolution/pointwise.h"
#include "taeda/backends/cpu/convolution_declarations.h"
#include "taeda/dispatch/boxing.h"
#include "taeda/ops/convolution/declarations.h"
#include "taeda/ops/convolution/geometry.h"
#include "taeda/ops/convolution/operators.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

using convolution_kernels::Done;
using convolution_kernels::Finish;
using convolution_kernels::Geometry;
using convolution_kernels::Tensors;

bool overlaps(const Tensor& a, const Tensor& b) {
  return a.defined() && a.storage() == b.storage() && b.storage()->nbytes() != 0;
}

// Calls f, which computes `result`, one of the tensors, from the others: in float where they are
// halves. Nothing is done where depthwise kernels do not take them.
Done run_depthwise(const Tensors& t, const Tensor& result, Done (*f)(const Tensors&, const Tensor&),
                   const Tensor& bias) {
  const DType dtype = t.x.dtype();
  if (!convolution_kernels::is_depthwise(t.geometry) || !is_floating(dtype)) return Done::Nothing;
  if (!is_reduced_float(dtype)) return f(t, bias);
  const auto wide = [&](const Tensor& given) {
    return given.is_same(result) ? taeda::empty_like(given, DType::Float) : given.to(DType::Float);
  };
  const Tensor x = wide(t.x), weight = wide(t.weight), y = wide(t.y);
  f({t.geometry, x, weight, y}, bias.defined() ? bias.to(DType::Float) : bias);
  Tensor target = result;
  cpu::copy_(target, result.is_same(t.x) ? x : result.is_same(t.y) ? y : weight, false);
  return Done::Computed;
}

// As products want them: in the layout of the images.
Tensor laid_out_filters(const Tensors& t) {
  if (!t.geometry.is_channels_last) return t.weight;
  return t.weight.contiguous(t.weight.dim() == 4 ? MemoryFormat::ChannelsLast
                                                 : MemoryFormat::ChannelsLast3d);
}

// y of a plain convolution. Filters may lie in order where the images' channels are innermost.
Done compute_forward(const Tensors& t, const Tensor& bias) {
  const Done done = run_depthwise(t, t.y, convolution_kernels::depthwise_forward, bias);
  if (done != Done::Nothing) return done;
  if (pointwise_forward(t, bias)) return Done::Finished;
  const Done by_library = library_convolution(onednn::Pass::Forward, t, bias);
  if (by_library != Done::Nothing) return by_library;
  const Tensor filters = laid_out_filters(t);
  return convolution_kernels::forward_product({t.geometry, t.x, filters, t.y, t.finish}, bias);
}

// x of a plain convolution, from what its elements add to y.
Done compute_input(const Tensors& t, const Tensor& bias) {
  const Done done = run_depthwise(t, t.x, convolution_kernels::depthwise_input, bias);
  if (done != Done::Nothing) return done;
  if (pointwise_input(t, bias)) return Done::Finished;
  if (!bias.defined() && library_convolution(onednn::Pass::SourceGrad, t, bias) != Done::Nothing)
    return Done::Computed;
  const Tensor filters = laid_out_filters(t);
  return convolution_kernels::input_product({t.geometry, t.x, filters, t.y, t.finish}, bias);
}

void compute_weight(const Tensors& t) {
  const auto depthwise = [](const Tensors& wide, const Tensor&) {
    depthwise_weight(wide);
    return Done::Computed;
  };
  if (run_depthwise(t, t.weight, depthwise, Tensor()) != Done::Nothing) return;
  if (pointwise_weight(t)) return;
  // The library copies both images into blocks of channels, which costs more than these products.
  if (t.geometry.is_pointwise()) return weight_product(t);
  if (library_convolution(onednn::Pass::WeightsGrad, t, Tensor()) == Done::Nothing)
    weight_product(t);
}

// A result that is known to lie apart from the operands may share their storage.
struct Result {
  Tensor& out;
  bool is_apart = false;
  Finish finish = {};
};

void convolve(const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvolutionGeometry& checked, const Result& result) {
  Tensor& out = result.out;
  if (out.numel() == 0) return;
  BelowADInplaceOrView guard;
  const MemoryFormat format = convolution_format(input, weight);
  const Tensor from = input.contiguous(format);
  const Tensor filters = weight.is_contiguous() ? weight : weight.contiguous(format);
  const Tensor addend = bias.defined() ? bias.contiguous() : bias;
  const bool is_apart =
      result.is_apart || (!overlaps(input, out) && !overlaps(weight, out) && !overlaps(bias, out));
  const bool is_direct = out.is_contiguous(format) && is_apart;
  const Tensor to = is_direct ? out : taeda::empty_like(out, {}, {}, {}, {}, format);
  const Tensor &x = checked.transposed ? to : from, &y = checked.transposed ? from : to;
  const Geometry g(x, filters, y, as_int(checked.stride), as_int(checked.padding),
                   as_int(checked.dilation), checked.groups.expect_int(),
                   format != MemoryFormat::Contiguous);
  const bool lies_alike = is_direct && result.finish.are_channels_columns == g.is_channels_last;
  const Tensors t{g, x, filters, y, lies_alike ? result.finish : Finish()};
  const Done done = checked.transposed ? compute_input(t, addend) : compute_forward(t, addend);
  if (!is_direct) cpu::copy_(out, to, false);
  if (!lies_alike || done != Done::Finished) result.finish.all();
}

}  // namespace

void convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, SymIntList stride,
                 SymIntList padding, SymIntList dilation, bool transposed,
                 SymIntList output_padding, SymInt groups, Tensor& out) {
  const ConvolutionGeometry checked(weight, stride, padding, dilation, transposed, output_padding,
                                    groups);
  convolve(input, weight, bias, checked, {out});
}

// ---- convolutions of plans ----
namespace {

template <class T>
auto argument(const dispatch::Stack& arguments, size_t i) {
  return dispatch::Boxing<T>::from(arguments.at(i));
}

void run_convolution(const dispatch::Stack& arguments, Tensor& out, const ProductOptions& options) {
  const Tensor &input = *argument<const Tensor&>(arguments, 0),
               &weight = *argument<const Tensor&>(arguments, 1),
               &bias = *argument<const Tensor&>(arguments, 2);
  const ConvolutionGeometry geometry(
      weight, argument<SymIntList>(arguments, 3), argument<SymIntList>(arguments, 4),
      argument<SymIntList>(arguments, 5), argument<bool>(arguments, 6),
      argument<SymIntList>(arguments, 7), argument<SymInt>(arguments, 8));
  geometry.check(input, weight, bias);
  convolve(input, weight, bias, geometry, {out, true, Finish(options, out)});
}

constexpr ProductOperator kConvolution{&ops::convolution, run_convolution, 1, false, false, true};

}  // namespace

bool prefers_channels_last(DType dtype) {
  return convolution_kernels::library_takes_channels_last(dtype);
}

const ProductOperator* find_convolution(const dispatch::Operator& op) {
  return &op == kConvolution.op ? &kConvolution : nullptr;
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output,
                                                        const Tensor& input, const Tensor& weight,
                                                        std::optional<SymIntList> bias_sizes,
                                                        SymIntList stride, SymIntList padding,
                                                        SymIntList dilation, bool transposed,
                                                        SymIntList output_padding, SymInt groups,
                                                        Span<bool> output_mask) {
  auto [grad_input, grad_weight, grad_bias] =
      impl::convolution_backward_meta(grad_output, input, weight, bias_sizes, stride, padding,
                                      dilation, transposed, output_padding, groups, output_mask);
  BelowADInplaceOrView guard;
  if (grad_output.numel() == 0) {
    for (Tensor* made : {&grad_input, &grad_weight, &grad_bias})
      if (made->defined()) made->zero_();
    return {grad_input, grad_weight, grad_bias};
  }
  if (grad_bias.defined()) {
    IntVec dims = {0};
    for (int64_t d = 2; d < grad_output.dim(); ++d) dims.push_back(d);
    grad_bias = grad_output.sum(IntList(dims));
  }
  const ConvolutionGeometry checked(weight, stride, padding, dilation, transposed, output_padding,
                                    groups);
  const MemoryFormat format = convolution_format(input, weight);
  const Tensor grad = grad_output.contiguous(format);
  const auto geometry_of = [&](const Tensor& x, const Tensor& y) {
    return Geometry(x, weight, y, as_int(checked.stride), as_int(checked.padding),
                    as_int(checked.dilation), groups.expect_int(),
                    format != MemoryFormat::Contiguous);
  };
  if (grad_input.defined()) {
    const Tensor filters = weight.contiguous(format);
    const Tensor &x = transposed ? grad : grad_input, &y = transposed ? grad_input : grad;
    const Geometry g = geometry_of(x, y);
    const Tensors t{g, x, filters, y};
    if (transposed)
      compute_forward(t, Tensor());
    else
      compute_input(t, Tensor());
  }
  if (grad_weight.defined()) {
    const Tensor from = input.contiguous(format);
    const Tensor &x = transposed ? grad : from, &y = transposed ? from : grad;
    const Geometry g = geometry_of(x, y);
    const Tensors t{g, x, grad_weight, y};
    compute_weight(t);
  }
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace taeda::cpu
