// Layers in C++: what they compute, their options and printed forms.
#include <gtest/gtest.h>

#include <cmath>

#include "taeda/nn.h"
#include "tests/nn/printed.h"

namespace taeda::nn {
namespace {

namespace F = functional;
using List = std::vector<double>;

TEST(Layers, ActivationsTakeOptions) {
  const Tensor x = taeda::tensor({-2.0, 0.5}, kDouble);
  EXPECT_DOUBLE_EQ(LeakyReLU(LeakyReLUOptions().negative_slope(0.1))(x)[0].item<double>(), -0.2);
  Tensor y = x.clone();
  ReLU(ReLUOptions().inplace(true))(y);
  EXPECT_EQ(y[0].item<double>(), 0);
  EXPECT_EQ(Threshold(1.0, 7.0)(x)[1].item<double>(), 7);
  EXPECT_NEAR(Softmax(0)(x).sum().item<double>(), 1, 1e-12);
  EXPECT_EQ(printed(ELU(ELUOptions().alpha(42.5).inplace(true))),
            "taeda::nn::ELU(alpha=42.5, inplace=true)");
  EXPECT_EQ(printed(ReLU()), "taeda::nn::ReLU()");
  EXPECT_EQ(printed(Softmax(1)), "taeda::nn::Softmax(dim=1)");
}

TEST(Layers, FunctionsTakeOptions) {
  const Tensor x = taeda::tensor({-2.0, 0.5}, kDouble);
  EXPECT_EQ(values(F::relu(x, F::ReLUFuncOptions().inplace(false))), (List{0, 0.5}));
  EXPECT_EQ(values(F::hardtanh(x, F::HardtanhFuncOptions().min_val(-1).max_val(0))), (List{-1, 0}));
  EXPECT_EQ(F::softmax(x, F::SoftmaxFuncOptions(0).dtype(kFloat)).dtype(), kFloat);
  EXPECT_EQ(values(F::one_hot(taeda::tensor({1, 0}))), (List{0, 1, 1, 0}));
  EXPECT_THROW(F::dropout(x, F::DropoutFuncOptions().p(2)), Error);
}

TEST(Layers, OfPythonThatPyTorchsCppLacks) {
  const Tensor x = taeda::tensor({{3.0, 4.0}}, kDouble);
  RMSNorm norm(RMSNormOptions({2}).eps(0));
  norm->to(kDouble);
  EXPECT_NEAR(norm(x)[0][0].item<double>(), 3 / std::sqrt(12.5), 1e-12);
  EXPECT_EQ(printed(RMSNorm(std::vector<int64_t>{2})),
            "taeda::nn::RMSNorm([2], elementwise_affine=true)");
  EXPECT_EQ(values(CircularPad1d(1)(x)), (List{4, 3, 4, 3}));
  EXPECT_EQ(values(ChannelShuffle(2)(taeda::arange(4).view({1, 4, 1, 1}))), (List{0, 2, 1, 3}));
  const Tensor loss = GaussianNLLLoss()(x, x + 2, taeda::full({1, 2}, 4.0, kDouble));
  EXPECT_NEAR(loss.item<double>(), 0.5 * (std::log(4.0) + 1), 1e-12);
  EXPECT_NEAR(F::smooth_l1_loss(x, x + 2, kMean, 4.0).item<double>(), 0.5, 1e-12);
  EXPECT_THROW(F::smooth_l1_loss(x, x, SmoothL1LossOptions().beta(1.0), 4.0), Error);
  const Tensor dropped = Dropout1d(0.5)(taeda::ones({64, 3}));  // whole channels: rows of 3
  EXPECT_EQ(dropped.sum(1).remainder(6).abs().max().item<double>(), 0);
  EXPECT_LT(dropped.sum().item<double>(), 64 * 6);
}

TEST(Layers, ListsOfParametersGrowByOthers) {
  ParameterList first(taeda::ones(1)), second(taeda::zeros(2), taeda::ones(3));
  *first += *second;
  EXPECT_EQ(first->size(), 3U);
  EXPECT_EQ(first[2].numel(), 3);
}

TEST(Layers, RandomSlopesAreForTraining) {
  RReLU layer;
  const Tensor x = taeda::full({100}, -1.0);
  EXPECT_GT(layer(x).std().item<double>(), 0);
  layer->eval();
  EXPECT_NEAR(layer(x)[0].item<double>(), -(1.0 / 8 + 1.0 / 3) / 2, 1e-6);
}

TEST(Layers, LinearMapsAndDistances) {
  Bilinear bilinear(2, 3, 1);
  init::ones_(bilinear->weight);
  init::zeros_(bilinear->bias);
  EXPECT_EQ(bilinear(taeda::ones({1, 2}), taeda::ones({1, 3})).item<double>(), 6);
  EXPECT_EQ(Unflatten(1, std::vector<int64_t>{2, 3})(taeda::ones({4, 6})).sizes(),
            IntList({4, 2, 3}));
  EXPECT_EQ(printed(Unflatten(1, std::vector<int64_t>{2, 3})),
            "taeda::nn::Unflatten(dim=1, unflattened_size={2, 3})");
  EXPECT_EQ(Flatten()(taeda::ones({4, 2, 3})).sizes(), IntList({4, 6}));
  const Tensor x = taeda::tensor({{3.0, 4.0}}), y = taeda::tensor({{6.0, 8.0}});
  EXPECT_NEAR(CosineSimilarity()(x, y).item<double>(), 1, 1e-6);
  EXPECT_NEAR(PairwiseDistance()(x, y).item<double>(), 5, 1e-4);
  EXPECT_EQ(printed(PairwiseDistance(PairwiseDistanceOptions().p(1))),
            "taeda::nn::PairwiseDistance(p=1, eps=1e-06, keepdim=false)");
}

TEST(Layers, DropoutIsForTraining) {
  Dropout drop(0.5);
  const Tensor x = taeda::ones({1000});
  EXPECT_LT(drop(x).ne(0).sum().item<double>(), 600);
  drop->eval();
  EXPECT_TRUE(taeda::equal(drop(x), x));
  EXPECT_THROW(Dropout(1.5), Error);
}

TEST(Layers, BatchNormKeepsStatistics) {
  BatchNorm1d norm(BatchNormOptions(2).momentum(0.5));
  const Tensor x = taeda::tensor({1.0, 2.0, 3.0, 6.0}, kFloat).view({2, 2});
  EXPECT_NEAR(norm(x).mean().item<double>(), 0, 1e-6);
  EXPECT_NEAR(norm->running_mean[1].item<double>(), 2, 1e-6);
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 1);
  norm->eval();
  EXPECT_NEAR(norm(x)[0][0].item<double>(), 0, 1e-5);
  const auto copy = std::dynamic_pointer_cast<BatchNorm1dImpl>(norm->clone());
  EXPECT_FALSE(copy->is_training());
  EXPECT_TRUE(taeda::equal(copy->running_var, norm->running_var));
  EXPECT_THROW(norm(taeda::ones({2})), Error);
}

TEST(Layers, LayerNormOfTheLastDimensions) {
  LayerNorm norm(LayerNormOptions({3}).eps(2e-5));
  EXPECT_NEAR(norm(taeda::tensor({1.0, 2.0, 3.0}, kFloat))[2].item<double>(), 1.2247, 1e-3);
  EXPECT_EQ(printed(norm), "taeda::nn::LayerNorm([3], eps=2e-05, elementwise_affine=true)");
}

TEST(Layers, OtherNormalizations) {
  const Tensor x = taeda::rand({2, 4, 5});
  EXPECT_NEAR(GroupNorm(2, 4)(x)[0].narrow(0, 0, 2).mean().item<double>(), 0, 1e-5);
  InstanceNorm1d norm(InstanceNorm1dOptions(4).track_running_stats(true));
  EXPECT_NEAR(norm(x)[1][2].mean().item<double>(), 0, 1e-5);
  EXPECT_NE(norm->running_mean[0].item<double>(), 0);
  EXPECT_EQ(InstanceNorm1d(4)(x[0]).sizes(), IntList({4, 5}));
  EXPECT_THROW(InstanceNorm2d(4)(taeda::ones({2, 4})), Error);
  const Tensor ones = taeda::ones({1, 1, 1, 1});
  const double scaled = std::pow(1 + 1e-4, -0.75);
  EXPECT_NEAR(LocalResponseNorm(1)(ones).item<double>(), scaled, 1e-6);
  EXPECT_NEAR(CrossMapLRN2d(1)(ones).item<double>(), scaled, 1e-6);
  EXPECT_NEAR(F::normalize(taeda::tensor({{3.0, 4.0}}))[0][1].item<double>(), 0.8, 1e-6);
}

TEST(Layers, EmbeddingWithPadding) {
  Embedding table(EmbeddingOptions(4, 3).padding_idx(-1));
  EXPECT_EQ(table->weight[3].abs().sum().item<double>(), 0);
  table(taeda::tensor({1, 3})).sum().backward();
  EXPECT_EQ(table->weight.grad()[3].sum().item<double>(), 0);
  EXPECT_EQ(table->weight.grad()[1].sum().item<double>(), 3);
}

TEST(Layers, EmbeddingBags) {
  const Tensor table = taeda::tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  auto bag = EmbeddingBag::from_pretrained(table, EmbeddingBagFromPretrainedOptions().mode(kSum));
  EXPECT_EQ(values(bag(taeda::tensor({{0, 2}, {1, 1}}))), (List{6, 8, 6, 8}));
  EXPECT_EQ(values(bag->forward(taeda::tensor({0, 1, 2}), taeda::tensor({0, 1}))),
            (List{1, 2, 8, 10}));
  EXPECT_FALSE(bag->weight.requires_grad());
  EXPECT_THROW(bag(taeda::tensor({0, 1})), Error);
  EXPECT_EQ(values(Embedding::from_pretrained(table)(taeda::tensor({2}))), (List{5, 6}));
}

TEST(Layers, LossesOfSeveralInputs) {
  const Tensor a = taeda::zeros({1, 2}), p = taeda::tensor({{0.0, 1.0}});
  const Tensor n = taeda::tensor({{0.0, 1.5}});
  EXPECT_NEAR(TripletMarginLoss()(a, p, n).item<double>(), 0.5, 1e-4);
  const auto manhattan = [](const Tensor& x, const Tensor& y) { return (x - y).abs().sum(1); };
  TripletMarginWithDistanceLoss own(
      TripletMarginWithDistanceLossOptions().distance_function(manhattan).margin(2).swap(true));
  EXPECT_NEAR(own(a, p, n).item<double>(), 2.5, 1e-6);  // from p to n it is 0.5
  const Tensor one = taeda::ones({1});
  EXPECT_EQ(
      MarginRankingLoss(MarginRankingLossOptions().margin(0.5))(one, one * 2, one).item<double>(),
      1.5);
  EXPECT_EQ(HingeEmbeddingLoss(HingeEmbeddingLossOptions().margin(3))(one, -one).item<double>(), 2);
  EXPECT_NEAR(PoissonNLLLoss()(taeda::zeros({1}), one).item<double>(), 1, 1e-6);
  EXPECT_NEAR(KLDivLoss(kBatchMean)(taeda::zeros({2, 3}), taeda::ones({2, 3})).item<double>(), 0,
              1e-6);
}

TEST(Layers, CTCLossOfOneLetter) {
  // Two steps, blank and one letter, all equally likely: three of four paths give the letter.
  const Tensor log_probs = taeda::full({2, 1, 2}, std::log(0.5));
  const Tensor loss =
      CTCLoss()->forward(log_probs, taeda::tensor({{1}}), taeda::tensor({2}), taeda::tensor({1}));
  EXPECT_NEAR(loss.item<double>(), -std::log(0.75), 1e-6);
}

TEST(Layers, Losses) {
  const Tensor x = taeda::tensor({1.0, 2.0}), y = taeda::tensor({0.0, 4.0});
  EXPECT_EQ(MSELoss()(x, y).item<double>(), 2.5);
  EXPECT_EQ(L1Loss(kSum)(x, y).item<double>(), 3);
  EXPECT_EQ(MSELoss(MSELossOptions().reduction(kNone))(x, y)[1].item<double>(), 4);
  const Tensor scores = taeda::zeros({2, 4});
  const Tensor classes = taeda::tensor({1, 2});
  EXPECT_NEAR(CrossEntropyLoss()(scores, classes).item<double>(), std::log(4.0), 1e-6);
}

}  // namespace
}  // namespace taeda::nn
