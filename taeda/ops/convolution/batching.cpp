// Batching rules of convolutions: examples join the batch, the output channels or the groups.
#include "taeda/ops/convolution/batching.h"
#include "taeda/ops/convolution/functions.h"
#include "taeda/ops/convolution/operators.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {
namespace {

// [examples, batch, ...] as [examples * batch, ...], and back.
Tensor into_batch(const Batched& t) { return t.front_expanded(batch_context().size).flatten(0, 1); }
Tensor from_batch(const Tensor& t) { return t.unflatten(0, {batch_context().size, SymInt(-1)}); }
// Channels of all examples side by side, example after example: [batch, examples * channels, ...].
Tensor into_channels(const Batched& t) {
  return t.front_expanded(batch_context().size).movedim(0, 1).flatten(1, 2);
}
Tensor from_channels(const Tensor& t) {
  return t.unflatten(1, {batch_context().size, SymInt(-1)}).movedim(1, 0);
}
// Filters of all examples, which become groups: [examples * first dimension, ...].
Tensor into_groups(const Batched& t) { return into_batch(t); }

// The numbers of a bias beside a result [examples, batch, channels, ...].
Tensor beside(const Batched& bias, int64_t rank) {
  SymIntVec sizes(static_cast<size_t>(rank) + 1, SymInt(1));
  const Tensor b = bias.front_expanded(batch_context().size);
  sizes[0] = b.sym_size(0);
  sizes[2] = b.sym_size(1);
  return b.reshape(sizes);
}

// Filters of all examples as output channels of each group: weight [examples, ...] to one weight,
// whose results come group by group and in each example by example.
Tensor into_filters(const Batched& weight, bool transposed, const SymInt& groups) {
  const Tensor w = weight.front();
  if (transposed) return w.movedim(0, 1).flatten(1, 2);
  return w.unflatten(1, {groups, SymInt(-1)}).movedim(0, 1).flatten(0, 2);
}
Tensor from_filters(const Tensor& out, const SymInt& groups) {
  return out.unflatten(1, {groups, batch_context().size, SymInt(-1)}).movedim(2, 0).flatten(2, 3);
}

}  // namespace

Batched convolution(const Batched& input, const Batched& weight, const Batched& bias,
                    SymIntList stride, SymIntList padding, SymIntList dilation, bool transposed,
                    SymIntList output_padding, SymInt groups) {
  const auto run = [&](const Tensor& x, const Tensor& w, const Tensor& b, const SymInt& g) {
    return taeda::convolution(x, w, b, stride, padding, dilation, transposed, output_padding, g);
  };
  const Tensor shared = bias.is_batched() ? Tensor() : bias.value;
  Tensor out;
  if (!weight.is_batched() && !input.is_batched())
    out = run(input.value, weight.value, Tensor(), groups).unsqueeze(0);
  else if (!weight.is_batched())
    out = from_batch(run(into_batch(input), weight.value, shared, groups));
  else if (!input.is_batched())
    out = from_filters(run(input.value, into_filters(weight, transposed, groups), Tensor(), groups),
                       groups);
  else
    out = from_channels(
        run(into_channels(input), into_groups(weight), Tensor(), groups * batch_context().size));
  const bool is_added = input.is_batched() && !weight.is_batched() && !bias.is_batched();
  if (bias.defined() && !is_added) out = out.add(beside(bias, input.rank()));
  return {out, 0};
}

// Gradients for the input share the filters, where those are the same for all examples; else the
// examples become groups.
std::tuple<Batched, Batched, Batched> convolution_backward(
    const Batched& grad_output, const Batched& input, const Batched& weight,
    std::optional<SymIntList>, SymIntList stride, SymIntList padding, SymIntList dilation,
    bool transposed, SymIntList output_padding, SymInt groups, Span<bool> output_mask) {
  const auto run = [&](const Tensor& g, const Tensor& x, const Tensor& w, const SymInt& count,
                       bool for_input) {
    const bool mask[] = {for_input, !for_input, false};
    return ops::convolution_backward(g, x, w, std::nullopt, stride, padding, dilation, transposed,
                                     output_padding, count, mask);
  };
  const SymInt& size = batch_context().size;
  Batched grad_input, grad_weight, grad_bias;
  if (output_mask[0]) {
    if (!weight.is_batched() && !grad_output.is_batched())
      grad_input = {std::get<0>(run(grad_output.value, input.front().select(0, SymInt(0)),
                                    weight.value, groups, true)),
                    -1};
    else if (!weight.is_batched())
      grad_input = {from_batch(std::get<0>(run(into_batch(grad_output), into_batch(input),
                                               weight.value, groups, true))),
                    0};
    else
      grad_input = {from_channels(std::get<0>(run(into_channels(grad_output), into_channels(input),
                                                  into_groups(weight), groups * size, true))),
                    0};
  }
  if (output_mask[1]) {
    if (!grad_output.is_batched() && !input.is_batched())
      grad_weight = {std::get<1>(run(grad_output.value, input.value,
                                     weight.front().select(0, SymInt(0)), groups, false)),
                     -1};
    else
      grad_weight = {from_batch(std::get<1>(run(into_channels(grad_output), into_channels(input),
                                                into_groups(weight), groups * size, false))),
                     0};
  }
  if (output_mask[2]) {
    IntVec dims = {0};
    for (int64_t d = 2; d < grad_output.rank(); ++d) dims.push_back(d);
    if (grad_output.is_batched())
      for (int64_t& d : dims) d += 1;
    grad_bias = {grad_output.front().sum(IntList(dims)), grad_output.is_batched() ? 0 : -1};
  }
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace taeda::batch
