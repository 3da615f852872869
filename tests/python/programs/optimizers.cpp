// Prints the losses of each optimizer, and the rates and momenta of each schedule, a line each.
#include <taeda/nn.h>
#include <taeda/optim.h>

#include <cstdio>
#include <memory>
#include <vector>

using namespace taeda;

template <class Optimizer, class Options>
static void train(const char* name, const Options& options) {
  manual_seed(5);
  // Arguments of a call are made in an order that compilers choose.
  const nn::Linear first(nn::LinearOptions(6, 4).bias(false));
  const nn::Linear last(nn::LinearOptions(4, 3).bias(false));
  nn::Sequential model(first, nn::Tanh(), last);
  const Tensor x = randn({12, 6}), y = randn({12, 3});
  Optimizer optimizer(model->parameters(), options);
  std::printf("%s", name);
  for (int i = 0; i < 8; ++i) {
    optimizer.zero_grad();
    Tensor loss = nn::functional::mse_loss(model(x), y);
    loss.backward();
    optimizer.step();
    std::printf(" %.9g", loss.item<double>());
  }
  std::printf("\n");
}

// The rates of both groups and the momentum of the first one, before and after each step.
template <class Make>
static void follow(const char* name, const Make& make) {
  const Tensor a = zeros(1).requires_grad_(), b = zeros(1).requires_grad_();
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{a});
  groups.emplace_back(std::vector<Tensor>{b}, std::make_unique<optim::SGDOptions>(0.5));
  optim::SGD sgd(std::move(groups), optim::SGDOptions(0.1).momentum(0.3));
  const auto schedule = make(sgd);
  std::printf("%s", name);
  for (int i = 0; i < 14; ++i) {
    for (auto& group : sgd.param_groups()) std::printf(" %.12g", group.options().get_lr());
    std::printf(" %.12g", *sgd.param_groups()[0].options().get_momentum());
    schedule->step();
  }
  std::printf("\n");
}

template <class Schedule, class... Args>
static void follow_one(const char* name, Args... args) {
  follow(name, [&](optim::Optimizer& sgd) { return std::make_shared<Schedule>(sgd, args...); });
}

static void optimizers() {
  using namespace taeda::optim;
  train<Adamax>("Adamax", AdamaxOptions(0.1).weight_decay(0.01));
  train<NAdam>("NAdam", NAdamOptions(0.1).weight_decay(0.01));
  train<NAdam>("NAdam_decoupled", NAdamOptions(0.1).weight_decay(0.1).decoupled_weight_decay(true));
  train<RAdam>("RAdam", RAdamOptions(0.1).betas({0.8, 0.9}).weight_decay(0.01));
  train<Adadelta>("Adadelta", AdadeltaOptions(1.0).weight_decay(0.01));
  train<Rprop>("Rprop", RpropOptions(0.05));
  train<ASGD>("ASGD", ASGDOptions(0.1).t0(3).lambd(0.01));
  train<Adafactor>("Adafactor", AdafactorOptions(0.5).weight_decay(0.01));
  train<Muon>("Muon", MuonOptions(0.1));
  train<Muon>("Muon_adamw", MuonOptions(0.1).adjust_lr_fn("match_rms_adamw").nesterov(false));
}

static void schedules() {
  using namespace taeda::optim;
  using Function = EpochFunction;
  follow_one<StepLR>("StepLR", 3U, 0.5);
  follow_one<MultiStepLR>("MultiStepLR", std::vector<int64_t>{2, 5, 5}, 0.5);
  follow_one<ConstantLR>("ConstantLR", 0.5, 4U);
  follow_one<LinearLR>("LinearLR", 0.25, 0.75, 6U);
  follow_one<ExponentialLR>("ExponentialLR", 0.9);
  follow_one<PolynomialLR>("PolynomialLR", 6U, 2.0);
  follow_one<LambdaLR>("LambdaLR", Function([](int64_t epoch) { return 1.0 / (epoch + 1); }));
  follow_one<MultiplicativeLR>("MultiplicativeLR",
                               Function([](int64_t epoch) { return epoch % 2 ? 0.5 : 1.5; }));
  follow_one<CosineAnnealingLR>("CosineAnnealingLR", 5, 0.01);
  follow_one<CosineAnnealingWarmRestarts>("CosineAnnealingWarmRestarts", 3, 2, 0.01);
  follow_one<CyclicLR>("CyclicLR", CyclicLROptions(0.01, {0.1, 0.2}).step_size_up(3));
  follow_one<CyclicLR>("CyclicLR_triangular2", CyclicLROptions(0.01, 0.1)
                                                   .step_size_up(2)
                                                   .step_size_down(3)
                                                   .mode("triangular2")
                                                   .cycle_momentum(false));
  follow_one<CyclicLR>("CyclicLR_exp_range",
                       CyclicLROptions(0.01, 0.1).step_size_up(3).mode("exp_range").gamma(0.9));
  follow_one<OneCycleLR>("OneCycleLR", OneCycleLROptions(0.4, 14));
  follow_one<OneCycleLR>(
      "OneCycleLR_three_phases",
      OneCycleLROptions({0.4, 0.8}, 16).three_phase(true).anneal_strategy("linear"));
  follow("SequentialLR", [](Optimizer& sgd) {
    SchedulerList parts = {std::make_shared<ConstantLR>(sgd, 0.1, 20U),
                           std::make_shared<ExponentialLR>(sgd, 0.9),
                           std::make_shared<CosineAnnealingWarmRestarts>(sgd, 3)};
    return std::make_shared<SequentialLR>(sgd, parts, std::vector<int64_t>{3, 7});
  });
  follow("ChainedScheduler", [](Optimizer& sgd) {
    SchedulerList parts = {std::make_shared<ConstantLR>(sgd, 0.5, 4U),
                           std::make_shared<ExponentialLR>(sgd, 0.9)};
    return std::make_shared<ChainedScheduler>(parts);
  });
}

int main() {
  optimizers();
  schedules();
}
