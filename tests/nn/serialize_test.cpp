// Models, tensors and optimizers in archives.
#include "taeda/nn/serialize.h"

#include <gtest/gtest.h>

#include <sstream>

#include "taeda/nn.h"
#include "taeda/optim.h"
#include "tests/nn/printed.h"

namespace taeda::nn {
namespace {

TEST(Serialize, TensorsAndLists) {
  std::stringstream stream, list_stream;
  const Tensor x = taeda::rand({2, 3}).requires_grad_();
  taeda::save(x, stream);
  Tensor y;
  taeda::load(y, stream);
  EXPECT_TRUE(taeda::equal(x, y));
  EXPECT_TRUE(y.requires_grad());
  taeda::save(std::vector<Tensor>{taeda::ones({1}), taeda::zeros({2}, kLong)}, list_stream);
  std::vector<Tensor> list;
  taeda::load(list, list_stream);
  EXPECT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].dtype(), kLong);
}

TEST(Serialize, ModelsKeepTheirTensors) {
  const auto make = [] { return Sequential(Linear(3, 4), BatchNorm1d(4), ReLU(), Linear(4, 1)); };
  Sequential net = make(), other = make();
  net->forward(taeda::rand({8, 3}));
  std::stringstream stream;
  taeda::save(net, stream);
  const Tensor weight = other->at<LinearImpl>(0).weight;
  taeda::load(other, stream);
  EXPECT_TRUE(taeda::equal(weight, net->at<LinearImpl>(0).weight));
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_TRUE(taeda::equal(other->at<BatchNorm1dImpl>(1).running_var,
                           net->at<BatchNorm1dImpl>(1).running_var));
}

TEST(Serialize, AnotherStructureIsRefused) {
  std::stringstream stream;
  taeda::save(Linear(LinearOptions(2, 2).bias(false)), stream);
  Linear layer(2, 2);
  try {
    taeda::load(layer, stream);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "No such serialized tensor 'bias'");
  }
}

TEST(Serialize, ArchivesNest) {
  serialization::OutputArchive inner, outer;
  inner.write("step", int64_t{7});
  inner.write("rate", 0.5);
  outer.write("state", inner);
  outer.write("w", taeda::ones({2}));
  EXPECT_THROW(outer.write("w", taeda::ones({2})), Error);
  std::stringstream stream;
  outer.save_to(stream);
  serialization::InputArchive archive, state;
  archive.load_from(stream);
  EXPECT_EQ(archive.keys(), (std::vector<std::string>{"state", "w"}));
  archive.read("state", state);
  int64_t step = 0;
  double rate = 0;
  state.read("step", step);
  state.read("rate", rate);
  EXPECT_EQ(step, 7);
  EXPECT_EQ(rate, 0.5);
  EXPECT_FALSE(archive.try_read("other", step));
}

// A model with an optimizer, for runs that are interrupted.
template <class Method>
struct Run {
  explicit Run(const Method& method) : optimizer(method(layer->parameters())) {}
  double step() {
    const auto closure = [&] {
      optimizer->zero_grad();
      Tensor loss = layer(x).pow(2).sum();
      loss.backward();
      return loss;
    };
    return optimizer->step(closure).template item<double>();
  }
  Linear layer{3, 1};
  Tensor x = taeda::linspace(0.0, 1.0, 6).view({2, 3});
  std::invoke_result_t<Method, std::vector<Tensor>> optimizer;
};

template <class Method>
void continues_after_loading(const Method& method) {
  manual_seed(0);
  Run<Method> first(method), second(method);
  for (int i = 0; i < 3; ++i) first.step();
  std::stringstream model, state;
  taeda::save(first.layer, model);
  taeda::save(*first.optimizer, state);
  taeda::load(second.layer, model);
  taeda::load(*second.optimizer, state);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first.step(), second.step());
}

TEST(Serialize, OptimizersContinue) {
  using namespace optim;
  using Parameters = std::vector<Tensor>;
  continues_after_loading([](Parameters p) {
    return std::make_unique<SGD>(std::move(p), SGDOptions(0.01).momentum(0.9));
  });
  continues_after_loading([](Parameters p) {
    return std::make_unique<Adam>(std::move(p), AdamOptions(0.01).amsgrad(true));
  });
  continues_after_loading([](Parameters p) {
    return std::make_unique<Adagrad>(std::move(p), AdagradOptions(0.01).lr_decay(0.1));
  });
  continues_after_loading([](Parameters p) {
    return std::make_unique<RMSprop>(std::move(p),
                                     RMSpropOptions(0.01).centered(true).momentum(0.5));
  });
  continues_after_loading([](Parameters p) {
    return std::make_unique<LBFGS>(std::move(p), LBFGSOptions(0.1).max_iter(3));
  });
}

TEST(Serialize, OptimizersOfOtherGroupsAreRefused) {
  Linear layer(2, 2);
  optim::SGD one(layer->parameters(), 0.1), other({layer->weight}, 0.1);
  std::stringstream stream;
  taeda::save(one, stream);
  EXPECT_THROW(taeda::load(other, stream), Error);
}

}  // namespace
}  // namespace taeda::nn
