// Optimizers in C++: values of steps worked out by hand, groups, state, schedules, errors.
#include "taeda/optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <typeinfo>

#include "taeda/nn.h"
#include "taeda/optim.h"

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
  EXPECT_DOUBLE_EQ(sgd.state_of(w)->momentum_buffer().item<double>(), 1.5);
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

TEST(Optimizer, AdagradDividesByTheSum) {
  Tensor w = weight(1);
  Adagrad adagrad({w}, AdagradOptions(0.1).lr_decay(1).eps(0));
  EXPECT_DOUBLE_EQ(adagrad.state_of(w)->sum().item<double>(), 0);
  give_gradient(w, 3);
  adagrad.step();
  EXPECT_NEAR(w.item<double>(), 0.9, 1e-12);
  give_gradient(w, 4);
  adagrad.step();  // rate 0.05, 4 / 5
  EXPECT_NEAR(w.item<double>(), 0.86, 1e-12);
  EXPECT_DOUBLE_EQ(adagrad.state_of(w)->sum().item<double>(), 25);
}

TEST(Optimizer, RMSpropDividesByTheMeanSquare) {
  Tensor w = weight(1), v = weight(1);
  RMSprop plain({w}, RMSpropOptions(0.1).alpha(0.75).eps(0));
  RMSprop centered({v}, RMSpropOptions(0.1).alpha(0.75).eps(0).centered(true).momentum(0.5));
  for (Tensor* parameter : {&w, &v}) give_gradient(*parameter, 2);
  plain.step();
  EXPECT_NEAR(w.item<double>(), 0.8, 1e-12);  // mean square 1
  centered.step();                            // variance 1 - 0.25
  EXPECT_NEAR(v.item<double>(), 1 - 0.2 / std::sqrt(0.75), 1e-12);
  EXPECT_NEAR(centered.state_of(v)->momentum_buffer().item<double>(), 2 / std::sqrt(0.75), 1e-12);
}

// The bottom of Rosenbrock's valley is at (1, 1).
double distance_to_bottom(LBFGSOptions options, int steps) {
  Tensor x = taeda::tensor({-1.0, 1.5}, kDouble).requires_grad_();
  LBFGS lbfgs({x}, std::move(options));
  for (int i = 0; i < steps; ++i) {
    lbfgs.step([&] {
      lbfgs.zero_grad();
      Tensor loss = (1 - x[0]).pow(2) + 100 * (x[1] - x[0].pow(2)).pow(2);
      loss.backward();
      return loss;
    });
  }
  return (x - 1).abs().max().item<double>();
}

TEST(Optimizer, LBFGSFindsTheBottomOfAValley) {
  EXPECT_LT(distance_to_bottom(LBFGSOptions(1).line_search_fn("strong_wolfe"), 5), 1e-5);
  EXPECT_LT(distance_to_bottom(LBFGSOptions(0.1).max_iter(50).history_size(5), 10), 1e-2);
  Tensor w = weight(1);
  LBFGS lbfgs({w});
  EXPECT_THROW(lbfgs.step(nullptr), Error);
  EXPECT_THROW(LBFGS({w}, LBFGSOptions().line_search_fn("other")), Error);
}

TEST(Optimizer, StatesAreFoundByTensor) {
  Tensor w = weight(1);
  Adam adam({w}, AdamOptions(0.1));
  give_gradient(w, 1);
  EXPECT_EQ(adam.state_of(w), nullptr);
  adam.step();
  auto& state = static_cast<AdamParamState&>(*adam.state().at(w.unsafeGetTensorImpl()));
  EXPECT_EQ(state.step(), 1);
  EXPECT_TRUE(static_cast<AdamParamState&>(*state.clone()).exp_avg().is_same(state.exp_avg()));
}

TEST(Optimizer, RatesFallOnAPlateau) {
  Tensor w = weight(1);
  SGD sgd({w}, SGDOptions(1));
  const auto rate = [&] { return sgd.param_groups()[0].options().get_lr(); };
  ReduceLROnPlateauScheduler schedule(sgd, ReduceLROnPlateauScheduler::min, 0.5F, /*patience=*/1);
  for (double metric : {3.0, 2.0, 2.0}) schedule.step(metric);
  EXPECT_DOUBLE_EQ(rate(), 1);
  schedule.step(2.0);
  EXPECT_DOUBLE_EQ(rate(), 0.5);
  ReduceLROnPlateauScheduler bounded(sgd, ReduceLROnPlateauScheduler::max, 0.1F, 0, 0.5,
                                     ReduceLROnPlateauScheduler::abs, /*cooldown=*/1, {0.2F});
  bounded.step(1.0);
  bounded.step(1.4);  // not better by 0.5
  EXPECT_NEAR(rate(), 0.2, 1e-6);
  EXPECT_THROW(ReduceLROnPlateauScheduler(sgd, ReduceLROnPlateauScheduler::min, 1.0F), Error);
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

// Takes two steps, saves, loads into another optimizer and compares the third step.
template <class Kind>
void expect_goes_on() {
  SCOPED_TRACE(typeid(Kind).name());
  Tensor a = taeda::tensor({{1.0, -2.0}, {0.5, 3.0}}, kDouble).requires_grad_();
  const auto step = [](Kind& optimizer, Tensor& parameter) {
    parameter.mutable_grad() = parameter.detach() * 2 + 1;
    optimizer.step();
  };
  Kind first({a});
  step(first, a);
  step(first, a);
  std::stringstream file;
  save(first, file);
  Tensor b = a.detach().clone().requires_grad_();
  Kind second({b});
  load(second, file);
  step(first, a);
  step(second, b);
  EXPECT_TRUE(taeda::equal(a, b)) << a << b;
}

TEST(Optimizer, GoesOnWhereItWasSaved) {
  expect_goes_on<Adamax>();
  expect_goes_on<NAdam>();
  expect_goes_on<RAdam>();
  expect_goes_on<Adadelta>();
  expect_goes_on<Rprop>();
  expect_goes_on<ASGD>();
  expect_goes_on<Adafactor>();
  expect_goes_on<Muon>();
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
  EXPECT_THROW(Adamax({w}, AdamaxOptions(-1)), Error);
  EXPECT_THROW(NAdam({w}, NAdamOptions().momentum_decay(-1)), Error);
  EXPECT_THROW(RAdam({w}, RAdamOptions().eps(-1)), Error);
  EXPECT_THROW(Adadelta({w}, AdadeltaOptions().rho(1.5)), Error);
  EXPECT_THROW(Rprop({w}, RpropOptions().etas({0.5, 0.9})), Error);
  EXPECT_THROW(ASGD({w}, ASGDOptions().weight_decay(-1)), Error);
  EXPECT_THROW(Adafactor({w}, AdafactorOptions().d(0.5)), Error);
  EXPECT_THROW(Adafactor({w}, AdafactorOptions().eps({-1.0, 0.0})), Error);
  EXPECT_THROW(Muon({w}), Error);  // no matrix
  EXPECT_THROW(Muon({weight(1).view({1, 1}).detach()}, MuonOptions().adjust_lr_fn("x")), Error);
}

}  // namespace
}  // namespace taeda::optim
