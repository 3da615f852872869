// Recurrent layers, cells and sequences of different lengths.
#include <gtest/gtest.h>

#include <cmath>

#include "taeda/nn.h"
#include "tests/nn/printed.h"

namespace taeda::nn {
namespace {

using List = std::vector<double>;
namespace rnn = utils::rnn;

template <class Layer>
void fill(Layer& layer, double value) {
  for (const Tensor& parameter : layer->parameters()) init::constant_(parameter, value);
}

TEST(Recurrent, AStepOfEachKind) {
  // All weights 0.5 and biases 0.5: a gate of input 1 and state 0 sees 1.5.
  const Tensor x = taeda::ones({1, 1, 1});
  const double s = 1 / (1 + std::exp(-1.5)), t = std::tanh(1.5);
  RNN tanh_layer(1, 1);
  RNN relu_layer(RNNOptions(1, 1).nonlinearity(kReLU));
  LSTM lstm(1, 1);
  GRU gru(1, 1);
  fill(tanh_layer, 0.5);
  fill(relu_layer, 0.5);
  fill(lstm, 0.5);
  fill(gru, 0.5);
  EXPECT_NEAR(std::get<0>(tanh_layer(x)).item<double>(), t, 1e-6);
  EXPECT_NEAR(std::get<0>(relu_layer(x)).item<double>(), 1.5, 1e-6);
  EXPECT_NEAR(std::get<0>(lstm(x)).item<double>(), s * std::tanh(s * t), 1e-6);
  EXPECT_NEAR(std::get<0>(gru(x)).item<double>(), (1 - s) * std::tanh(1 + s * 0.5), 1e-6);
}

TEST(Recurrent, ShapesOfStatesAndNames) {
  LSTM lstm(LSTMOptions(3, 4).num_layers(2).bidirectional(true).batch_first(true).proj_size(2));
  const auto [output, state] = lstm->forward(taeda::ones({5, 7, 3}));
  EXPECT_EQ(output.sizes(), IntList({5, 7, 4}));
  EXPECT_EQ(std::get<0>(state).sizes(), IntList({4, 5, 2}));
  EXPECT_EQ(std::get<1>(state).sizes(), IntList({4, 5, 4}));
  const std::vector<std::string> names = lstm->named_parameters().keys();
  EXPECT_EQ(names.size(), 20u);
  EXPECT_EQ(names[9], "weight_hr_l0_reverse");
  EXPECT_EQ(printed(GRU(3, 4)),
            "taeda::nn::GRU(input_size=3, hidden_size=4, num_layers=1, bias=true, "
            "batch_first=false, dropout=0, bidirectional=false)");
}

TEST(Recurrent, OneSequenceIsABatchOfOne) {
  GRU gru(3, 4);
  const Tensor x = taeda::rand({6, 3});
  const auto [alone, last] = gru->forward(x);
  const auto [batch, states] = gru->forward(x.unsqueeze(1));
  EXPECT_TRUE(taeda::allclose(alone, batch.squeeze(1)));
  EXPECT_EQ(last.sizes(), IntList({1, 4}));
}

TEST(Recurrent, WrongShapesAreRefused) {
  LSTM lstm(3, 4);
  EXPECT_THROW(lstm->forward(taeda::ones({2, 2, 5})), Error);
  EXPECT_THROW(lstm->forward(taeda::ones({2})), Error);
  EXPECT_THROW(GRU(3, 4)->forward(taeda::ones({2, 2, 3}), taeda::ones({1, 1, 4})), Error);
  EXPECT_THROW(LSTM(LSTMOptions(3, 4).proj_size(4)), Error);
}

TEST(Recurrent, CellsTakeOneStep) {
  RNNCell cell(1, 1);
  fill(cell, 0.5);
  EXPECT_NEAR(cell(taeda::ones({1, 1})).item<double>(), std::tanh(1.5), 1e-6);
  LSTMCell lstm(3, 4);
  auto [hidden, memory] = lstm(taeda::ones({2, 3}));
  EXPECT_EQ(hidden.sizes(), IntList({2, 4}));
  std::tie(hidden, memory) = lstm->forward(taeda::ones({2, 3}), std::tuple(hidden, memory));
  EXPECT_EQ(memory.sizes(), IntList({2, 4}));
  EXPECT_EQ(GRUCell(3, 4)(taeda::ones({3})).sizes(), IntList({4}));
}

TEST(Sequences, PackedRunsAsPadded) {
  manual_seed(3);
  const std::vector<Tensor> sequences{taeda::rand({2, 3}), taeda::rand({5, 3})};
  const Tensor padded = rnn::pad_sequence(sequences);
  EXPECT_EQ(padded.sizes(), IntList({5, 2, 3}));
  EXPECT_EQ(rnn::pad_sequence(sequences, true, -1, "left")[0][0][0].item<double>(), -1);
  const auto packed = rnn::pack_sequence(sequences, /*enforce_sorted=*/false);
  EXPECT_EQ(values(packed.batch_sizes()), (List{2, 2, 1, 1, 1}));
  EXPECT_THROW(rnn::pack_sequence(sequences), Error);
  LSTM lstm(3, 4);
  const auto [output, state] = lstm->forward_with_packed_input(packed);
  const auto [unpacked, lengths] = rnn::pad_packed_sequence(output);
  EXPECT_EQ(values(lengths), (List{2, 5}));
  for (int64_t i = 0; i < 2; ++i) {
    const auto [alone, last] = lstm->forward(sequences[static_cast<size_t>(i)]);
    EXPECT_TRUE(taeda::allclose(unpacked.select(1, i).narrow(0, 0, alone.size(0)), alone));
    EXPECT_TRUE(taeda::allclose(std::get<0>(state).select(1, i), std::get<0>(last)));
  }
}

}  // namespace
}  // namespace taeda::nn
