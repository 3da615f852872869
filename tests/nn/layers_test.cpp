// Layers in C++: what they compute, their options and printed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "taeda/nn/nn.h"
#include "taeda/taeda.h"

namespace taeda::nn {
namespace {

template <class M>
std::string printed(const M& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

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

TEST(Layers, EmbeddingWithPadding) {
  Embedding table(EmbeddingOptions(4, 3).padding_idx(-1));
  EXPECT_EQ(table->weight[3].abs().sum().item<double>(), 0);
  table(taeda::tensor({1, 3})).sum().backward();
  EXPECT_EQ(table->weight.grad()[3].sum().item<double>(), 0);
  EXPECT_EQ(table->weight.grad()[1].sum().item<double>(), 3);
}

TEST(Layers, Losses) {
  const Tensor x = taeda::tensor({1.0, 2.0}), y = taeda::tensor({0.0, 4.0});
  EXPECT_EQ(MSELoss()(x, y).item<double>(), 2.5);
  EXPECT_EQ(L1Loss(Reduction::Sum)(x, y).item<double>(), 3);
  EXPECT_EQ(MSELoss(MSELossOptions().reduction(Reduction::None))(x, y)[1].item<double>(), 4);
  const Tensor scores = taeda::zeros({2, 4});
  const Tensor classes = taeda::tensor({1, 2});
  EXPECT_NEAR(CrossEntropyLoss()(scores, classes).item<double>(), std::log(4.0), 1e-6);
}

}  // namespace
}  // namespace taeda::nn
