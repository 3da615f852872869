#include "taeda/nn/functional/attention_projection.h"

#include <algorithm>

#include "taeda/nn/functional/shape_text.h"
#include "taeda/ops/functions.h"

namespace taeda::nn::functional::attention {
namespace {

constexpr const char* kNames[] = {"query", "key", "value"};

Three in_three(const Tensor& tensor) {
  const std::vector<Tensor> parts = tensor.chunk(3);
  TAEDA_CHECK_VALUE(parts.size() == 3, "not enough values to unpack (expected 3, got ",
                    parts.size(), ")");
  return {parts[0], parts[1], parts[2]};
}

// The parts of the last dimension before all others: (count, ..., size), contiguous.
Tensor parts_first(const Tensor& projected, int64_t count, const SymInt& size) {
  return projected.unflatten(-1, {SymInt(count), size})
      .unsqueeze(0)
      .transpose(0, -2)
      .squeeze(-2)
      .contiguous();
}

Three linear_each(const Three& inputs, const Three& weights, const Three& biases) {
  Three out;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = taeda::linear(inputs[i], weights[i], biases[i]);
  }
  return out;
}

}  // namespace

Three bias_parts(const Tensor& bias) { return bias.defined() ? in_three(bias) : Three{}; }

Three in_projection_packed(const Three& inputs, const Tensor& weight, const Tensor& bias) {
  const auto& [query, key, value] = inputs;
  if (!key.is_same(value)) return linear_each(inputs, in_three(weight), bias_parts(bias));
  const SymInt size = query.sym_size(-1);
  if (query.is_same(key)) {
    const Tensor parts = parts_first(taeda::linear(query, weight, bias), 3, size);
    return {parts.select(0, 0), parts.select(0, 1), parts.select(0, 2)};
  }
  const auto split = [&](const Tensor& tensor) {
    return tensor.defined() ? tensor.split_with_sizes({size, size * SymInt(2)})
                            : std::vector<Tensor>(2);
  };
  const std::vector<Tensor> weights = split(weight), biases = split(bias);
  const Tensor parts = parts_first(taeda::linear(key, weights[1], biases[1]), 2, size);
  return {taeda::linear(query, weights[0], biases[0]), parts.select(0, 0), parts.select(0, 1)};
}

Three in_projection(const Three& inputs, const Three& weights, const Three& biases) {
  const SymInt size = inputs[0].sym_size(-1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SymInt expected[] = {size, inputs[i].sym_size(-1)};
    TAEDA_CHECK_KIND(ErrorKind::Assertion, weights[i].sym_sizes() == SymIntList(expected),
                     "expecting ", kNames[i], " weights shape of ", tuple_text(expected),
                     ", but got ", size_text(weights[i].sym_sizes()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SymInt expected[] = {size};
    TAEDA_CHECK_KIND(ErrorKind::Assertion,
                     !biases[i].defined() || biases[i].sym_sizes() == SymIntList(expected),
                     "expecting ", kNames[i], " bias shape of ", tuple_text(expected), ", but got ",
                     size_text(biases[i].sym_sizes()));
  }
  return linear_each(inputs, weights, biases);
}

}  // namespace taeda::nn::functional::attention
