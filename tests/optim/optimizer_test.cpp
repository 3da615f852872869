// Optimizers in C++: values of steps worked out by hand, groups, state, schedules, errors.
#include "taeda/optim/optimizer.h"

#include <gtest/gtest.h>

#include "taeda/nn/nn.h"
#include "taeda/optim/optim.h"
#include "taeda/taeda.h"

namespace taeda::optim {
namespace {

Tensor weight(double value) { return taeda::tensor({value}, kDouble).requires_grad_(); }

void give_gradient(Tensor& parameter, double value) {
  parameter.mutable_grad() = taeda::tensor({value}, kDouble);
}

TEST(Optimizer, MomentumGathers) {
  Tensor w = weight(1);
  SGD sgd({w}, SGDOptions(0.1).momentum(0.5));
  give_gradient(w, 1);
  sgd.step();
  EXPECT_DOUBLE_EQ(w.item<double>(), 0.9);
  sgd.step();  // the buffer is 1.5
  EXPECT_DOUBLE_EQ(w.item<double>(), 0.75);
  EXPECT_DOUBLE_EQ(sgd.state(w)->momentum_buffer.item<double>(), 1.5);
}

TEST(Optimizer, NesterovLooksAhead) {
  Tensor w = weight(1);
  SGD sgd({w}, SGDOptions(0.1).momentum(0.5).nesterov(true).weight_decay(1));
  give_gradient(w, 1);
  sgd.step();  // gradient 2, buffer 2, direction 3
  EXPECT_DOUBLE_EQ(w.item<double>(), 0.7);
}

TEST(Optimizer, TheFirstStepOfAdamIsTheRate) {
  Tensor w = weight(1), v = weight(1);
  Adam adam({w}, AdamOptions(0.01).eps(0));
  AdamW adamw({v}, AdamWOptions(0.01).eps(0).weight_decay(0.5));
  give_gradient(w, -3);
  give_gradient(v, -3);
  adam.step();
  adamw.step();
  EXPECT_NEAR(w.item<double>(), 1.01, 1e-12);
  EXPECT_NEAR(v.item<double>(), 1.005, 1e-12);  // 1 * (1 - 0.01 * 0.5) + 0.01
}

TEST(Optimizer, GroupsHaveOptionsOfTheirOwn) {
  Tensor a = weight(1), b = weight(1);
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{a});
  groups.emplace_back(std::vector<Tensor>{b}, std::make_unique<SGDOptions>(0.5));
  SGD sgd(std::move(groups), SGDOptions(0.1));
  EXPECT_EQ(sgd.size(), 2u);
  give_gradient(a, 1);
  give_gradient(b, 1);
  sgd.step();
  EXPECT_DOUBLE_EQ(a.item<double>(), 0.9);
  EXPECT_DOUBLE_EQ(b.item<double>(), 0.5);
  StepLR schedule(sgd, 2, 0.1);
  schedule.step();
  EXPECT_DOUBLE_EQ(sgd.param_groups()[1].options().get_lr(), 0.5);
  schedule.step();
  EXPECT_DOUBLE_EQ(sgd.param_groups()[1].options().get_lr(), 0.05);
}

TEST(Optimizer, ClosuresComputeTheLoss) {
  manual_seed(0);
  nn::Linear line(2, 1);
  SGD sgd(line->parameters(), SGDOptions(0.1));
  const Tensor x = taeda::rand({16, 2}), y = x.sum(1, /*keepdim=*/true);
  double loss = 0;
  for (int i = 0; i < 300; ++i) {
    loss = sgd.step([&] {
                sgd.zero_grad();
                Tensor out = nn::MSELoss()(line(x), y);
                out.backward();
                return out;
              })
               .item<double>();
  }
  EXPECT_LT(loss, 1e-3);
}

TEST(Optimizer, WrongOptionsAndParametersAreRefused) {
  Tensor w = weight(1);
  EXPECT_THROW(SGD({w}, SGDOptions(-1)), Error);
  EXPECT_THROW(SGD({w}, SGDOptions(1).nesterov(true)), Error);
  EXPECT_THROW(Adam({w}, AdamOptions(1).betas({1.0, 0.9})), Error);
  EXPECT_THROW(SGD(std::vector<Tensor>{w, w}, SGDOptions(1)), Error);
  EXPECT_THROW(SGD({w * 2}, SGDOptions(1)), Error);
  EXPECT_THROW(SGD({Tensor()}, SGDOptions(1)), Error);
}

}  // namespace
}  // namespace taeda::optim
