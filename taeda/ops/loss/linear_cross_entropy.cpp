// The cross entropy of a linear layer's scores: whole, and by blocks of rows.
#include "taeda/ops/loss/linear_cross_entropy.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/loss/declarations.h"
#include "taeda/ops/loss/functions.h"
#include "taeda/ops/loss/gradients.h"
#include "taeda/ops/loss/reduction.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda {
namespace {

// As Python prints a tuple.
std::string python_tuple(SymIntList sizes) {
  std::string text = str(sizes);
  text.front() = '(';
  text.back() = ')';
  return sizes.size() == 1 ? text.insert(text.size() - 1, ",") : text;
}

void check_layer(const Tensor& input, const Tensor& linear_weight, const Tensor& linear_bias) {
  TAEDA_CHECK(input.dim() == 1 || input.dim() == 2,
              "expected input with dimensionality 1 or 2, got ", input.dim());
  TAEDA_CHECK(linear_weight.dim() >= 2,
              "expected linear_weight with dimensionality at least 2, got ", linear_weight.dim());
  TAEDA_CHECK(input.sym_size(-1) == linear_weight.sym_size(-1),
              "expected equal input and linear_weight last dimensions (in_features), got ",
              input.sym_size(-1), " and ", linear_weight.sym_size(-1), ", respectively");
  const SymIntList shape = linear_weight.sym_sizes().slice(0, linear_weight.sym_sizes().size() - 1);
  TAEDA_CHECK(!linear_bias.defined() || linear_bias.sym_sizes() == shape,
              "expected linear_bias shape ", python_tuple(shape), ", got ",
              python_tuple(linear_bias.defined() ? linear_bias.sym_sizes() : shape));
  TAEDA_CHECK(linear_weight.dim() == 2 || input.dim() == 2,
              "K-dimensional loss defined by linear_weight shape ",
              python_tuple(linear_weight.sym_sizes()), " requires batched input, (N, ",
              input.sym_size(-1), "), got unbatched input with shape ",
              python_tuple(input.sym_sizes()));
}

}  // namespace

ScoreBlocks::ScoreBlocks(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& t,
                         const Tensor& weight, const SymInt& ignore_index, const SymInt& chunk_size)
    : input(x), linear_weight(w), linear_bias(b), target(t) {
  TAEDA_CHECK(x.dim() == 2 && w.dim() == 2 && t.dim() == 1 && t.sym_size(0) == x.sym_size(0),
              "_chunked_linear_cross_entropy: expected (N, F), (C, F) and N classes, got ",
              x.sym_sizes(), ", ", w.sym_sizes(), " and ", t.sym_sizes());
  count = x.sym_size(0).expect_int();
  rows = std::max<int64_t>(1, chunk_size.expect_int());
  const Tensor ignored = target.eq(Scalar(ignore_index));
  index = target.masked_fill(ignored, Scalar(0));
  share = weight.defined() ? weight.detach().gather(0, index)
                           : taeda::ones({SymInt(count)}, x.dtype(), {}, x.device());
  share = share.masked_fill(ignored, Scalar(0));
}

Tensor ScoreBlocks::scores(int64_t start, int64_t length) const {
  return taeda::linear(input.narrow(0, start, length), linear_weight, linear_bias);
}

Tensor ScoreBlocks::slope(const Tensor& factor, int64_t start, int64_t length) const {
  const Tensor s = scores(start, length);
  const Tensor by = factor.narrow(0, start, length).unsqueeze(1);
  const Tensor at = index.narrow(0, start, length).unsqueeze(1);
  return taeda::softmax(s, 1).mul(by).sub(taeda::zeros_like(s).scatter(1, at, by));
}

Tensor ScoreBlocks::factor(const Tensor& grad, int64_t reduction) const {
  return reduction == impl::kMean ? share.mul(grad.div(share.sum())) : share.mul(grad);
}

namespace impl {

Tensor _linear_cross_entropy(const Tensor& input, const Tensor& linear_weight, const Tensor& target,
                             const Tensor& linear_bias, const Tensor& weight, int64_t reduction,
                             std::optional<SymInt> ignore_index, double label_smoothing) {
  check_layer(input, linear_weight, linear_bias);
  SymIntVec shape(input.sym_sizes().slice(0, input.sym_sizes().size() - 1));
  for (const SymInt& n : linear_weight.sym_sizes().slice(0, linear_weight.sym_sizes().size() - 1))
    shape.push_back(n);
  TAEDA_CHECK(!ignore_index || target.sym_sizes() != SymIntList(shape),
              "ignore_index cannot be specified when target contains probabilities");
  const bool is_flat = linear_weight.dim() == 2;
  const Tensor w = is_flat ? linear_weight : linear_weight.flatten(0, -2);
  const Tensor b = is_flat || !linear_bias.defined() ? linear_bias : linear_bias.flatten();
  const Tensor scores = taeda::linear(input, w, b).reshape(SymIntList(shape));
  return taeda::cross_entropy_loss(scores, target, weight, reduction,
                                   ignore_index.value_or(SymInt(-100)), label_smoothing);
}

Tensor _chunked_linear_cross_entropy(const Tensor& input, const Tensor& linear_weight,
                                     const Tensor& target, const Tensor& linear_bias,
                                     const Tensor& weight, int64_t reduction, SymInt ignore_index,
                                     SymInt chunk_size) {
  check_layer(input, linear_weight, linear_bias);
  const ScoreBlocks blocks(input, linear_weight, linear_bias, target, weight, ignore_index,
                           chunk_size);
  std::vector<Tensor> parts;
  blocks.for_each([&](int64_t start, int64_t length) {
    parts.push_back(taeda::cross_entropy_loss(blocks.scores(start, length),
                                              target.narrow(0, start, length), weight, kNone,
                                              ignore_index));
  });
  const Tensor rows = taeda::cat(parts);
  return reduction == kMean ? rows.sum().div(blocks.share.sum()) : reduced(rows, reduction);
}

}  // namespace impl

namespace gradients {

Tensor chunked_linear_cross_entropy_input_backward(const Tensor& grad, const Tensor& input,
                                                   const Tensor& linear_weight,
                                                   const Tensor& target, const Tensor& linear_bias,
                                                   const Tensor& weight, int64_t reduction,
                                                   const SymInt& ignore_index,
                                                   const SymInt& chunk_size) {
  const ScoreBlocks blocks(input, linear_weight, linear_bias, target, weight, ignore_index,
                           chunk_size);
  const Tensor factor = blocks.factor(grad, reduction);
  std::vector<Tensor> parts;
  blocks.for_each([&](int64_t start, int64_t length) {
    parts.push_back(blocks.slope(factor, start, length).matmul(linear_weight));
  });
  return taeda::cat(parts);
}

namespace {

// The sum of f(block's slope, start, length), 16-bit parts in float.
template <class F>
Tensor sum_of_blocks(const ScoreBlocks& blocks, const Tensor& factor, DType to, F&& f) {
  Tensor sum;
  blocks.for_each([&](int64_t start, int64_t length) {
    const Tensor part = f(blocks.slope(factor, start, length), start, length);
    const Tensor wide = is_reduced_float(part.dtype()) ? part.to(DType::Float) : part;
    sum = sum.defined() ? sum.add(wide) : wide;
  });
  return cast_gradient(sum, to);
}

}  // namespace

Tensor chunked_linear_cross_entropy_weight_backward(const Tensor& grad, const Tensor& input,
                                                    const Tensor& linear_weight,
                                                    const Tensor& target, const Tensor& linear_bias,
                                                    const Tensor& weight, int64_t reduction,
                                                    const SymInt& ignore_index,
                                                    const SymInt& chunk_size) {
  const ScoreBlocks blocks(input, linear_weight, linear_bias, target, weight, ignore_index,
                           chunk_size);
  return sum_of_blocks(blocks, blocks.factor(grad, reduction), linear_weight.dtype(),
                       [&](const Tensor& slope, int64_t start, int64_t length) {
                         return slope.t().matmul(input.narrow(0, start, length));
                       });
}

Tensor chunked_linear_cross_entropy_bias_backward(const Tensor& grad, const Tensor& input,
                                                  const Tensor& linear_weight, const Tensor& target,
                                                  const Tensor& linear_bias, const Tensor& weight,
                                                  int64_t reduction, const SymInt& ignore_index,
                                                  const SymInt& chunk_size) {
  const ScoreBlocks blocks(input, linear_weight, linear_bias, target, weight, ignore_index,
                           chunk_size);
  return sum_of_blocks(
      blocks, blocks.factor(grad, reduction), linear_bias.dtype(),
      [](const Tensor& slope, int64_t, int64_t) { return slope.sum(IntList({0})); });
}

Tensor chunked_linear_cross_entropy_forward(const Tensor& input, const Tensor& input_tangent,
                                            const Tensor& linear_weight,
                                            const Tensor& weight_tangent, const Tensor& target,
                                            const Tensor& linear_bias, const Tensor& bias_tangent,
                                            const Tensor& weight, int64_t reduction,
                                            const SymInt& ignore_index, const SymInt& chunk_size) {
  const ScoreBlocks blocks(input, linear_weight, linear_bias, target, weight, ignore_index,
                           chunk_size);
  const Tensor factor =
      reduction == impl::kMean ? blocks.share.div(blocks.share.sum()) : blocks.share;
  std::vector<Tensor> parts;
  blocks.for_each([&](int64_t start, int64_t length) {
    const Tensor along =
        taeda::linear(input_tangent.narrow(0, start, length), linear_weight, bias_tangent)
            .add(taeda::linear(input.narrow(0, start, length), weight_tangent));
    parts.push_back(blocks.slope(factor, start, length).mul(along).sum(IntList({1})));
  });
  const Tensor rows = taeda::cat(parts);
  return reduction == impl::kNone ? rows : rows.sum();
}

}  // namespace gradients
}  // namespace taeda
