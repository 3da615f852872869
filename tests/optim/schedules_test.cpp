// Schedules in C++: what they refuse, where they go on after loading, schedules of one's own.
// Their rates are compared with those of Python in tests/python/test_cpp_optimizers.py.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "taeda/nn.h"
#include "taeda/optim.h"

namespace taeda::optim {
namespace {

struct Rates {
  Tensor weight = taeda::zeros(1).requires_grad_();
  SGD sgd{{weight}, SGDOptions(1.0).momentum(0.9)};
  double now() const { return sgd.param_groups()[0].options().get_lr(); }
};

// A schedule as PyTorch's programs write it: the count is that of the steps before this one.
class HalvingLR : public LRScheduler {
 public:
  using LRScheduler::LRScheduler;

 private:
  std::vector<double> get_lrs() override { return of_base(1.0 / (1U << step_count_)); }
};

TEST(Schedules, OnesOwnCountFromZero) {
  Rates rates;
  HalvingLR schedule(rates.sgd);
  schedule.step();
  EXPECT_DOUBLE_EQ(rates.now(), 1);
  schedule.step();
  EXPECT_DOUBLE_EQ(rates.now(), 0.5);
}

TEST(Schedules, ARateOfZeroDoesNotReturn) {
  Rates rates;
  ConstantLR constant(rates.sgd, 0.0, 2);
  EXPECT_EQ(rates.now(), 0);
  constant.step();
  EXPECT_THROW(constant.step(), Error);
}

TEST(Schedules, SecondOnesStartFromTheRatesOfTheFirst) {
  Rates rates;
  ConstantLR constant(rates.sgd, 0.5, 2);
  LambdaLR lambda(rates.sgd, [](int64_t) { return 2.0; });
  EXPECT_DOUBLE_EQ(rates.now(), 2);
  EXPECT_EQ(lambda.get_last_lr(), std::vector<double>{2});
}

TEST(Schedules, RestartsLieBetweenEpochs) {
  Rates rates;
  CosineAnnealingWarmRestarts schedule(rates.sgd, 2, 2);
  schedule.step(1.0);
  EXPECT_NEAR(rates.now(), 0.5, 1e-12);
  schedule.step(4.0);  // the middle of the second cosine, of four epochs
  EXPECT_NEAR(rates.now(), 0.5, 1e-12);
  schedule.step(0.5);
  EXPECT_NEAR(rates.now(), (1 + std::sqrt(0.5)) / 2, 1e-12);
  EXPECT_THROW(schedule.step(-1.0), Error);
}

TEST(Schedules, GoOnWhereTheyWereSaved) {
  Rates first, second;
  const auto make = [](Optimizer& sgd) {
    SchedulerList parts = {std::make_shared<LinearLR>(sgd, 0.1, 1.0, 3U),
                           std::make_shared<CosineAnnealingWarmRestarts>(sgd, 2, 2)};
    return SequentialLR(sgd, parts, {3});
  };
  SequentialLR written = make(first.sgd);
  for (int i = 0; i < 6; ++i) written.step();
  std::stringstream file, optimizer;
  save(written, file);
  save(first.sgd, optimizer);
  SequentialLR read = make(second.sgd);
  load(read, file);
  load(second.sgd, optimizer);
  for (int i = 0; i < 5; ++i) {
    EXPECT_DOUBLE_EQ(first.now(), second.now());
    written.step();
    read.step();
  }
}

TEST(Schedules, RefuseWhatDoesNotFit) {
  Rates rates, others;
  Optimizer& sgd = rates.sgd;
  EXPECT_THROW(StepLR(sgd, 0), Error);
  EXPECT_THROW(ConstantLR(sgd, 1.5), Error);
  EXPECT_THROW(LinearLR(sgd, 0.0), Error);
  EXPECT_THROW(LinearLR(sgd, 0.5, 2.0), Error);
  EXPECT_THROW(LambdaLR(sgd, std::vector<EpochFunction>(2)), Error);
  EXPECT_THROW(CosineAnnealingLR(sgd, 0), Error);
  EXPECT_THROW(CosineAnnealingWarmRestarts(sgd, 0), Error);
  EXPECT_THROW(CyclicLR(sgd, CyclicLROptions(0.1, {1.0, 2.0})), Error);
  EXPECT_THROW(CyclicLR(sgd, CyclicLROptions(0.1, 1.0).mode("other")), Error);
  EXPECT_THROW(OneCycleLR(sgd, OneCycleLROptions(0.1, 0)), Error);
  EXPECT_THROW(OneCycleLR(sgd, OneCycleLROptions(0.1, 5).anneal_strategy("other")), Error);
  EXPECT_THROW(SequentialLR(sgd, {}, {}), Error);
  EXPECT_THROW(ChainedScheduler({}), Error);
  const SchedulerList mixed = {std::make_shared<StepLR>(sgd, 1U),
                               std::make_shared<StepLR>(others.sgd, 1U)};
  EXPECT_THROW(ChainedScheduler{mixed}, Error);
  EXPECT_THROW(SequentialLR(sgd, mixed, {}), Error);
  Tensor w = taeda::zeros(1).requires_grad_();
  Rprop without_momentum({w});
  EXPECT_THROW(CyclicLR(without_momentum, CyclicLROptions(0.1, 1.0)), Error);
}

TEST(Schedules, OneCycleEnds) {
  Rates rates;
  OneCycleLR schedule(rates.sgd, OneCycleLROptions(1.0, 3));
  for (int i = 0; i < 3; ++i) schedule.step();
  EXPECT_THROW(schedule.step(), Error);
}

}  // namespace
}  // namespace taeda::optim
