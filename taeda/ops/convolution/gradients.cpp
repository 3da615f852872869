// Derivatives of convolutions in terms of convolutions.
#include "taeda/ops/convolution/gradients.h"

#include "taeda/ops/convolution/functions.h"
#include "taeda/ops/convolution/operators.h"
#include "taeda/ops/functions.h"

namespace taeda::gradients {
namespace {

struct Arguments {
  SymIntList stride, padding, dilation;
  bool transposed;
  SymIntList output_padding;
  const SymInt& groups;

  Tensor forward(const Tensor& input, const Tensor& weight) const {
    return taeda::convolution(input, weight, Tensor(), stride, padding, dilation, transposed,
                              output_padding, groups);
  }
  std::tuple<Tensor, Tensor, Tensor> backward(const Tensor& grad_output, const Tensor& input,
                                              const Tensor& weight,
                                              std::optional<SymIntList> bias_sizes,
                                              Span<bool> mask) const {
    return ops::convolution_backward(grad_output, input, weight, bias_sizes, stride, padding,
                                     dilation, transposed, output_padding, groups, mask);
  }
  Tensor for_input(const Tensor& grad_output, const Tensor& input, const Tensor& weight) const {
    static constexpr bool kMask[] = {true, false, false};
    return std::get<0>(backward(grad_output, input, weight, std::nullopt, kMask));
  }
  Tensor for_weight(const Tensor& grad_output, const Tensor& input, const Tensor& weight) const {
    static constexpr bool kMask[] = {false, true, false};
    return std::get<1>(backward(grad_output, input, weight, std::nullopt, kMask));
  }
};

Tensor added(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : !b.defined() ? a : a.add(b);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> convolution_gradients(const Tensor& grad, const Tensor& input,
                                                         const Tensor& weight,
                                                         SymIntList bias_sizes, SymIntList stride,
                                                         SymIntList padding, SymIntList dilation,
                                                         bool transposed, SymIntList output_padding,
                                                         const SymInt& groups, Span<bool> wanted) {
  const Arguments a{stride, padding, dilation, transposed, output_padding, groups};
  const std::optional<SymIntList> sizes =
      bias_sizes.empty() ? std::nullopt : std::optional<SymIntList>(bias_sizes);
  return a.backward(grad, input.conj(), weight.conj(), sizes, wanted);
}

Tensor convolution_grad_output_backward(Span<Tensor> grads, const Tensor& input,
                                        const Tensor& weight, SymIntList stride, SymIntList padding,
                                        SymIntList dilation, bool transposed,
                                        SymIntList output_padding, const SymInt& groups) {
  const Arguments a{stride, padding, dilation, transposed, output_padding, groups};
  Tensor total;
  if (grads[0].defined()) total = a.forward(grads[0], weight.conj());
  if (grads[1].defined()) total = added(total, a.forward(input.conj(), grads[1]));
  if (!grads[2].defined()) return total;
  // A result without channels holds nothing of the bias.
  const SymInt channels = input.sym_size(1);
  if (!channels.is_symbolic() && channels == SymInt(0)) return total;
  SymIntVec shape(static_cast<size_t>(input.dim()), SymInt(1));
  shape[1] = grads[2].sym_size(0);
  const Tensor bias = grads[2].view(shape);
  if (total.defined()) return total.add(bias);
  // A bias alone: its gradient at every place of the result.
  return a.forward(input, weight).mul(Scalar(0)).add(bias);
}

Tensor convolution_input_double_backward(const Tensor& grad, const Tensor& grad_output,
                                         const Tensor& input, SymIntList stride, SymIntList padding,
                                         SymIntList dilation, bool transposed,
                                         SymIntList output_padding, const SymInt& groups) {
  if (!grad.defined()) return grad;
  const Arguments a{stride, padding, dilation, transposed, output_padding, groups};
  return a.for_input(grad_output.conj(), input, grad);
}

Tensor convolution_weight_double_backward(const Tensor& grad, const Tensor& grad_output,
                                          const Tensor& weight, SymIntList stride,
                                          SymIntList padding, SymIntList dilation, bool transposed,
                                          SymIntList output_padding, const SymInt& groups) {
  if (!grad.defined()) return grad;
  const Arguments a{stride, padding, dilation, transposed, output_padding, groups};
  return a.for_weight(grad_output.conj(), grad, weight);
}

Tensor convolution_input_tangent(const Tensor& grad_output, const Tensor& grad_output_t,
                                 const Tensor& input, const Tensor& weight, const Tensor& weight_t,
                                 SymIntList stride, SymIntList padding, SymIntList dilation,
                                 bool transposed, SymIntList output_padding, const SymInt& groups,
                                 Span<bool> output_mask) {
  if (!output_mask[0]) return Tensor();
  const Arguments a{stride, padding, dilation, transposed, output_padding, groups};
  return added(a.for_input(grad_output_t, input, weight),
               a.for_input(grad_output, input, weight_t));
}

Tensor convolution_weight_tangent(const Tensor& grad_output, const Tensor& grad_output_t,
                                  const Tensor& input, const Tensor& input_t, const Tensor& weight,
                                  SymIntList stride, SymIntList padding, SymIntList dilation,
                                  bool transposed, SymIntList output_padding, const SymInt& groups,
                                  Span<bool> output_mask) {
  if (!output_mask[1]) return Tensor();
  const Arguments a{stride, padding, dilation, transposed, output_padding, groups};
  return added(a.for_weight(grad_output_t, input, weight),
               a.for_weight(grad_output, input_t, weight));
}

Tensor convolution_bias_tangent(const Tensor& grad_output_t, Span<bool> output_mask) {
  if (!output_mask[2]) return Tensor();
  IntVec dims;
  for (int64_t d = 0; d < grad_output_t.dim(); ++d)
    if (d != 1) dims.push_back(d);
  return grad_output_t.sum(IntList(dims));
}

}  // namespace taeda::gradients
