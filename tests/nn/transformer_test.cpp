// Attention and the transformer.
#include <gtest/gtest.h>

#include <cmath>

#include "taeda/nn.h"
#include "tests/nn/printed.h"

namespace taeda::nn {
namespace {

TEST(Attention, EqualKeysAreSeenEqually) {
  MultiheadAttention attention(4, 2);
  const Tensor query = taeda::rand({3, 2, 4}), memory = taeda::ones({5, 2, 4});
  const auto [output, weights] = attention->forward(query, memory, memory);
  EXPECT_EQ(output.sizes(), IntList({3, 2, 4}));
  EXPECT_EQ(weights.sizes(), IntList({2, 3, 5}));
  EXPECT_NEAR(weights[0][1][2].item<double>(), 0.2, 1e-6);
  EXPECT_EQ(attention->name(), "taeda::nn::MultiheadAttention");
}

TEST(Attention, MasksHideKeys) {
  MultiheadAttention attention(4, 2);
  attention->eval();
  const Tensor x = taeda::rand({3, 1, 4});
  const Tensor mask = TransformerImpl::generate_square_subsequent_mask(3);
  const auto [output, weights] = attention->forward(x, x, x, {}, true, mask);
  EXPECT_EQ(weights[0][0][1].item<double>(), 0);
  EXPECT_NEAR(weights[0][2].sum().item<double>(), 1, 1e-6);
  const auto [fused, none] = attention->forward(x, x, x, {}, false, mask);
  EXPECT_FALSE(none.defined());
  EXPECT_TRUE(taeda::allclose(fused, output, 1e-4, 1e-6));
  const Tensor padding = taeda::tensor({false, true, false}).view({1, 3});
  const auto seen = std::get<1>(attention->forward(x, x, x, padding));
  EXPECT_EQ(seen.select(2, 1).abs().sum().item<double>(), 0);
}

TEST(Attention, OtherSizesOfKeysAndValues) {
  MultiheadAttention attention(
      MultiheadAttentionOptions(4, 2).kdim(3).vdim(5).add_bias_kv(true).add_zero_attn(true));
  EXPECT_FALSE(attention->in_proj_weight.defined());
  const auto [output, weights] =
      attention->forward(taeda::rand({2, 1, 4}), taeda::rand({6, 1, 3}), taeda::rand({6, 1, 5}));
  EXPECT_EQ(output.sizes(), IntList({2, 1, 4}));
  EXPECT_EQ(weights.size(-1), 8);
  EXPECT_THROW(MultiheadAttention(5, 2), Error);
}

// The values are those of PyTorch's function: heads of one feature, whose matrices are ones.
TEST(Attention, OneInputTakesOneProduct) {
  const Tensor x = taeda::arange(4, kFloat).view({2, 1, 2});
  const auto options = functional::MultiheadAttentionForwardFuncOptions(
      2, 2, taeda::ones({6, 2}), {}, {}, {}, false, 0.0, taeda::eye(2), {});
  const Tensor shared = std::get<0>(functional::multi_head_attention_forward(x, x, x, options));
  const Tensor apart =
      std::get<0>(functional::multi_head_attention_forward(x, x.clone(), x.clone(), options));
  EXPECT_TRUE(taeda::allclose(shared, apart));
  EXPECT_NEAR(shared[0][0][0].item<double>(), 4.928055, 1e-5);
}

TEST(Attention, CausalMaskIsTheOperators) {
  MultiheadAttention attention(4, 2);
  attention->eval();
  const Tensor x = taeda::rand({3, 1, 4});
  const auto call = [&](const Tensor& mask, bool is_causal) {
    return std::get<0>(functional::multi_head_attention_forward(
        x, x, x,
        functional::MultiheadAttentionForwardFuncOptions(
            4, 2, attention->in_proj_weight, attention->in_proj_bias, {}, {}, false, 0.0,
            attention->out_proj->weight, attention->out_proj->bias)
            .need_weights(false)
            .attn_mask(mask)
            .is_causal(is_causal)));
  };
  const Tensor mask = TransformerImpl::generate_square_subsequent_mask(3);
  EXPECT_TRUE(taeda::allclose(call(mask, false), call(mask, true), 1e-4, 1e-6));
  EXPECT_THROW(call({}, true), Error);
}

TEST(Transformer, RunsAndTakesGradients) {
  Transformer model(TransformerOptions(4, 2, 1, 2).dim_feedforward(8).activation(kGELU));
  const Tensor source = taeda::rand({5, 3, 4}), target = taeda::rand({2, 3, 4});
  const Tensor out =
      model->forward(source, target, {}, TransformerImpl::generate_square_subsequent_mask(2));
  EXPECT_EQ(out.sizes(), IntList({2, 3, 4}));
  out.sum().backward();
  for (const auto& item : model->named_parameters()) {
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
  }
  EXPECT_EQ(model->named_parameters().keys().front(), "encoder.layers.0.self_attn.in_proj_weight");
  EXPECT_THROW(model->forward(source, taeda::rand({2, 1, 4})), Error);
}

TEST(Transformer, StacksHaveCopies) {
  TransformerEncoderLayer layer(TransformerEncoderLayerOptions(4, 2).dropout(0));
  TransformerEncoder encoder(TransformerEncoderOptions(layer, 2));
  EXPECT_EQ(encoder->options.encoder_layer().ptr(), layer.ptr());
  EXPECT_TRUE(taeda::equal(encoder->layers->at<TransformerEncoderLayerImpl>(0).linear1->weight,
                           encoder->layers->at<TransformerEncoderLayerImpl>(1).linear1->weight));
  const Tensor x = taeda::rand({3, 2, 4});
  EXPECT_TRUE(taeda::allclose(encoder(x), layer(layer(x))));
  // Last arguments may be left out in a Sequential.
  Sequential both(layer, Linear(4, 1));
  EXPECT_EQ(both->forward(x).sizes(), IntList({3, 2, 1}));
}

TEST(AdaptiveSoftmax, AgreesWithItsProbabilities) {
  AdaptiveLogSoftmaxWithLoss layer(8, 10, std::vector<int64_t>{4, 7});
  const Tensor x = taeda::rand({5, 8}), target = taeda::tensor({0, 3, 5, 8, 9});
  const Tensor all = layer->log_prob(x);
  EXPECT_NEAR(all.exp().sum(1)[2].item<double>(), 1, 1e-5);
  const ASMoutput result = layer->forward(x, target);
  EXPECT_TRUE(taeda::allclose(result.output, all.gather(1, target.unsqueeze(1)).squeeze(1)));
  EXPECT_NEAR(result.loss, -result.output.mean().item<double>(), 1e-6);
  EXPECT_TRUE(taeda::equal(layer->predict(x), all.argmax(1)));
  EXPECT_THROW(layer->forward(x, target + 5), Error);
}

}  // namespace
}  // namespace taeda::nn
