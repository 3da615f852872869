// Modules in C++: names, state, copies, containers and their errors.
#include "taeda/nn/module.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "taeda/nn/nn.h"
#include "taeda/taeda.h"

namespace taeda::nn {
namespace {

struct NetImpl : Cloneable<NetImpl> {
  NetImpl() { NetImpl::reset(); }
  void reset() override {
    first = register_module("first", Linear(4, 3));
    second = register_module("second", Linear(LinearOptions(3, 2).bias(false)));
    scale = register_buffer("scale", taeda::full({1}, 2.0));
  }
  Tensor forward(const Tensor& x) { return second->forward(first->forward(x).relu()) * scale; }

  Linear first{nullptr}, second{nullptr};
  Tensor scale;
};
TAEDA_MODULE(Net);

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Module, NamesTensorsInTheOrderOfRegistration) {
  const Net net;
  EXPECT_EQ(net->named_parameters().keys(),
            (std::vector<std::string>{"first.weight", "first.bias", "second.weight"}));
  EXPECT_EQ(net->named_buffers().keys(), std::vector<std::string>{"scale"});
  EXPECT_EQ(net->named_modules().keys(), (std::vector<std::string>{"", "first", "second"}));
  EXPECT_EQ(net->parameters(false).size(), 0u);
}

TEST(Module, MembersAndEntriesShareTensors) {
  Net net;
  net->to(kDouble);
  EXPECT_EQ(net->first->weight.dtype(), kDouble);
  EXPECT_EQ(net->scale.dtype(), kDouble);
  EXPECT_TRUE(net->first->weight.requires_grad());
}

TEST(Module, GradientsAreClearedByDefault) {
  Net net;
  net(taeda::ones({2, 4})).sum().backward();
  EXPECT_TRUE(net->first->bias.grad().defined());
  net->zero_grad(/*set_to_none=*/false);
  EXPECT_EQ(net->first->bias.grad().abs().sum().item<double>(), 0);
  net->zero_grad();
  EXPECT_FALSE(net->first->bias.grad().defined());
}

TEST(Module, TrainReachesAllModules) {
  Net net;
  net->eval();
  EXPECT_FALSE(net->second->is_training());
  net->train();
  EXPECT_TRUE(net->second->is_training());
}

TEST(Module, ACopyHasTensorsOfItsOwn) {
  Net net;
  const auto copy = std::dynamic_pointer_cast<NetImpl>(net->clone());
  EXPECT_TRUE(taeda::equal(copy->first->weight, net->first->weight));
  const NoGradGuard no_grad;
  copy->first->weight.zero_();
  EXPECT_NE(net->first->weight.abs().sum().item<double>(), 0);
  EXPECT_EQ(copy->named_parameters()["first.weight"].abs().sum().item<double>(), 0);
}

TEST(Module, BadNamesAreRefused) {
  Module module("M");
  module.register_parameter("w", taeda::ones({1}));
  EXPECT_EQ(message_of([&] { module.register_parameter("w", taeda::ones({1})); }),
            "Parameter 'w' already defined");
  EXPECT_EQ(message_of([&] { module.register_buffer("a.b", Tensor()); }),
            "Buffer name must not contain a dot (got 'a.b')");
  EXPECT_EQ(message_of([&] { module.register_module("", Linear(1, 1)); }),
            "Submodule name must not be empty");
  EXPECT_EQ(message_of([&] { module.unregister_module("x"); }),
            "No Module with name `x` is registered");
}

TEST(Module, IntegersTakeNoGradient) {
  Module module("M");
  EXPECT_NE(message_of([&] { module.register_parameter("n", taeda::ones({1}, kLong)); }), "");
  EXPECT_EQ(module.register_parameter("m", taeda::ones({1}, kLong), false).dtype(), kLong);
}

TEST(Module, AnEmptyHolderSaysSo) {
  Linear none(nullptr);
  EXPECT_TRUE(none.is_empty());
  EXPECT_EQ(message_of([&] { none->reset(); }), "Accessing empty ModuleHolder");
}

TEST(Sequential, CallsInOrderAndPrints) {
  Sequential net(Linear(4, 3), Functional([](const Tensor& x) { return x.relu(); }), Linear(3, 1));
  EXPECT_EQ(net->size(), 3u);
  EXPECT_EQ(net(taeda::ones({2, 4})).sizes().vec(), (std::vector<int64_t>{2, 1}));
  std::ostringstream out;
  out << net;
  EXPECT_EQ(out.str(),
            "taeda::nn::Sequential(\n"
            "  (0): taeda::nn::Linear(in_features=4, out_features=3, bias=true)\n"
            "  (1): taeda::nn::Functional()\n"
            "  (2): taeda::nn::Linear(in_features=3, out_features=1, bias=true)\n"
            ")");
}

TEST(Sequential, NamesAndErrors) {
  Sequential net({{"in", Linear(2, 2)}, {"out", Linear(2, 1)}});
  EXPECT_EQ(net->named_children().keys(), (std::vector<std::string>{"in", "out"}));
  EXPECT_EQ(message_of([&] { net->forward(taeda::ones({2}), taeda::ones({2})); }),
            "taeda::nn::LinearImpl's forward() method expects 1 argument(s), but received 2");
  Sequential empty;
  EXPECT_EQ(message_of([&] { empty->forward(taeda::ones({2})); }),
            "Cannot call forward() on an empty Sequential");
}

TEST(ModuleList, HoldsModules) {
  ModuleList list(Linear(1, 2), Linear(2, 3));
  EXPECT_EQ(list->at<LinearImpl>(1).options.out_features(), 3);
  EXPECT_EQ(list->parameters().size(), 4u);
  EXPECT_EQ(message_of([&] { list->ptr(2); }), "Index out of range");
}

TEST(Init, FansAndBounds) {
  const Tensor weight = taeda::empty({6, 4, 3});
  EXPECT_EQ(init::calculate_fan_in_and_fan_out(weight), (std::pair<int64_t, int64_t>{12, 18}));
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  EXPECT_LE(weight.abs().max().item<double>(), 1 / std::sqrt(12.0));
  init::dirac_(weight);
  EXPECT_EQ(weight.sum().item<double>(), 4);
  EXPECT_EQ(weight[2][2][1].item<double>(), 1);
}

}  // namespace
}  // namespace taeda::nn
