// Modules in C++: names, state, copies, containers and their errors.
#include "taeda/nn/module.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "taeda/nn.h"
#include "tests/nn/printed.h"

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

TEST(Sequential, StandsInAnother) {
  Sequential inner(Linear(4, 3), ReLU());
  Sequential net(inner, Sequential({{"out", Linear(3, 2)}}),
                 Functional([](const Tensor& x) { return x.neg(); }));
  const Tensor x = taeda::ones({5, 4});
  const Tensor out = net->forward(x);
  const auto& last = net->at<SequentialImpl>(1);
  EXPECT_TRUE(taeda::allclose(out, last.ptr<LinearImpl>(0)->forward(inner->forward(x)).neg()));
  EXPECT_EQ(net->parameters().size(), 4u);
  EXPECT_EQ(net->named_parameters().keys().back(), "1.out.bias");

  Sequential outer;
  outer->push_back("body", net);
  outer->push_back(Linear(2, 1));
  EXPECT_EQ(outer->forward(x).sizes(), IntList({5, 1}));
  const auto copy = std::dynamic_pointer_cast<SequentialImpl>(outer->clone());
  EXPECT_TRUE(taeda::allclose(copy->forward(x), outer->forward(x)));
  EXPECT_NE(copy->parameters()[0].data(), outer->parameters()[0].data());
}

TEST(Sequential, NamesAndErrors) {
  Sequential net({{"in", Linear(2, 2)}, {"out", Linear(2, 1)}});
  EXPECT_EQ(net->named_children().keys(), (std::vector<std::string>{"in", "out"}));
  EXPECT_EQ(message_of([&] { net->forward(taeda::ones({2}), taeda::ones({2})); }),
            "taeda::nn::LinearImpl's forward() method expects 1 argument(s), but received 2.");
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

TEST(ModuleList, InsertsAndCopies) {
  ModuleList list(Linear(1, 2), Linear(2, 3));
  list->insert(1, ReLU());
  EXPECT_EQ(list->named_parameters().keys().back(), "2.bias");
  size_t count = 0;
  for (const auto& module : *list) count += module->parameters().size();
  EXPECT_EQ(count, 4u);
  const auto copy = std::dynamic_pointer_cast<ModuleListImpl>(list->clone());
  EXPECT_TRUE(taeda::equal(copy->at<LinearImpl>(0).weight, list->at<LinearImpl>(0).weight));
  EXPECT_NE(copy->ptr(0), list->ptr(0));
}

TEST(ModuleDict, HoldsByName) {
  ModuleDict dict(std::vector<std::pair<std::string, Module::Ptr>>{{"a", Linear(1, 2).ptr()}});
  dict->update({{"a", Linear(1, 3).ptr()}, {"b", ReLU().ptr()}});
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(dict->at<LinearImpl>("a").options.out_features(), 3);
  dict->pop("a");
  EXPECT_EQ(dict->size(), 1u);
}

TEST(ParameterContainers, HoldParameters) {
  ParameterList list(taeda::ones({2}), taeda::zeros({3}, requires_grad()));
  EXPECT_EQ(list->named_parameters().keys(), (std::vector<std::string>{"0", "1"}));
  EXPECT_FALSE(list->at(0).requires_grad());
  ParameterDict dict;
  dict->insert("w", taeda::ones({2}, requires_grad()));
  EXPECT_TRUE(dict->get("w").requires_grad());
  const auto copy = std::dynamic_pointer_cast<ParameterDictImpl>(dict->clone());
  EXPECT_FALSE(copy->get("w").is_same(dict->get("w")));
  EXPECT_EQ(message_of([&] { list->at(2); }), "Index out of range");
}

TEST(Sequential, ACopyHasModulesOfItsOwn) {
  Sequential net({{"in", Linear(2, 2)}, {"act", ReLU()}, {"out", Linear(2, 1)}});
  const auto copy = std::dynamic_pointer_cast<SequentialImpl>(net->clone());
  EXPECT_EQ(copy->named_children().keys(), (std::vector<std::string>{"in", "act", "out"}));
  const Tensor x = taeda::rand({3, 2});
  EXPECT_TRUE(taeda::equal(copy->forward(x), net->forward(x)));
  init::zeros_(net->at<LinearImpl>(2).weight);
  EXPECT_FALSE(taeda::equal(copy->at<LinearImpl>(2).weight, net->at<LinearImpl>(2).weight));
}

TEST(AnyModule, CallsAndCasts) {
  AnyModule any(Linear(2, 3));
  EXPECT_EQ(any(taeda::ones({1, 2})).size(1), 3);
  EXPECT_EQ(any.get<Linear>()->options.in_features(), 2);
  EXPECT_EQ(any.get<LinearImpl>().options.in_features(), 2);
  EXPECT_EQ(any.ptr<LinearImpl>(), any.ptr());
  EXPECT_EQ(message_of([&] { any.get<ReLU>(); }),
            "Attempted to cast module of type taeda::nn::LinearImpl to type taeda::nn::ReLUImpl");
  EXPECT_EQ(message_of([&] { any.forward<int>(taeda::ones({1, 2})); }),
            "Attempted to cast AnyValue to int, but its actual type is taeda::Tensor");
  AnyModule bound(Functional([](const Tensor& x, double y) { return x * y; }, 3.0));
  EXPECT_EQ(bound(taeda::ones({1})).item<double>(), 3);
}

struct Scaled : Module {
  double forward(int x, int times = 2, double more = 3.0) { return x * times + more; }

 protected:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(2)}, {2, AnyValue(3.0)})
};

TEST(AnyModule, DefaultArgumentsAreFilledIn) {
  AnyModule any(Scaled{});
  EXPECT_EQ(any.forward<double>(5), 13);
  EXPECT_EQ(any.forward<double>(5, 1), 8);
  EXPECT_EQ(any.forward<double>(5, 1, 0.5), 5.5);
  EXPECT_EQ(message_of([&] { any.forward<double>(); }),
            any.ptr()->name() +
                "'s forward() method expects at least 1 argument(s) and at most 3 "
                "argument(s), but received 0.");
  EXPECT_EQ(message_of([&] { any.forward<double>(1.5); }),
            "Expected argument #0 to be of type int, but received value of type double");
}

TEST(AnyModule, DefaultsOfLayersAreThoseOfTheirFunctions) {
  AnyModule attention(MultiheadAttention(4, 2));
  const Tensor x = taeda::rand({3, 1, 4});
  const auto found = attention.forward<std::tuple<Tensor, Tensor>>(x, x, x);
  EXPECT_EQ(std::get<1>(found).sizes(), IntList({1, 3, 3}));
}

struct Joined : Module {
  std::string forward(std::string a, const std::string& b, std::string&& c) { return a + b + c; }
};

TEST(AnyModule, ArgumentsOfEveryKindArePassed) {
  AnyModule any(Joined{});
  const std::string b = "b";
  EXPECT_EQ(any.forward<std::string>(std::string("a"), b, std::string("c")), "abc");
}

TEST(AnyModule, AnEmptyOneSaysSoAndIsAssignable) {
  AnyModule any;
  EXPECT_EQ(message_of([&] { any.ptr(); }), "Cannot call ptr() on an empty AnyModule");
  EXPECT_EQ(message_of([&] { any.type_info(); }), "Cannot call type_info() on an empty AnyModule");
  any = std::make_shared<Joined>();
  EXPECT_EQ(any.type_info(), typeid(Joined));
}

TEST(Module, ApplyVisitsTheModuleThenThoseBelow) {
  ModuleDict inner, outer;
  inner->insert("first", Linear(1, 1).ptr());
  outer->insert("in", inner.ptr());
  outer->insert("out", ReLU().ptr());
  const ModuleDict net = outer;
  std::vector<std::string> names;
  net->apply([&](const std::string& name, const Module&) { names.push_back(name); }, "net");
  EXPECT_EQ(names, (std::vector<std::string>{"net", "net.in", "net.in.first", "net.out"}));
  size_t count = 0;
  net->apply([&](const Module& module) { count += module.children().size(); });
  EXPECT_EQ(count, 3u);
}

TEST(Containers, HoldersTakePlacesInBrackets) {
  Sequential net(Linear(1, 2), ReLU());
  EXPECT_EQ(net[1], net->ptr(1));
  EXPECT_EQ(net->ptr<LinearImpl>(0)->options.out_features(), 2);
  ModuleDict dict;
  dict->update(OrderedDict<std::string, Module::Ptr>{{"a", Linear(1, 2).ptr()}});
  ModuleDict other;
  other->update(*dict);
  EXPECT_EQ(other["a"], dict["a"]);
  ParameterDict weights, more;
  weights->insert("w", taeda::ones({2}));
  more->update(*weights);
  EXPECT_TRUE(more["w"].is_same(weights["w"]));
}

TEST(Clipping, NormsAndValues) {
  Tensor a = taeda::ones({1}, requires_grad()), b = taeda::ones({1}, requires_grad());
  a.mutable_grad() = taeda::full({1}, 3.0);
  b.mutable_grad() = taeda::full({1}, 4.0);
  EXPECT_NEAR(utils::clip_grad_norm_({a, b}, 1), 5, 1e-6);
  EXPECT_NEAR(b.grad().item<double>(), 0.8, 1e-5);
  utils::clip_grad_value_({a, b}, 0.7);
  EXPECT_NEAR(b.grad().item<double>(), 0.7, 1e-6);
  EXPECT_NEAR(a.grad().item<double>(), 0.6, 1e-5);
}

TEST(ParameterVector, ThereAndBack) {
  Linear layer(2, 3);
  const Tensor vector = utils::parameters_to_vector(layer->parameters());
  EXPECT_EQ(vector.numel(), 9);
  utils::vector_to_parameters(taeda::arange(9, kFloat), layer->parameters());
  EXPECT_EQ(layer->bias[2].item<double>(), 8);
  EXPECT_TRUE(layer->weight.requires_grad());
}

TEST(Init, FansAndBounds) {
  const Tensor weight = taeda::empty({6, 4, 3});
  EXPECT_EQ(init::calculate_fan_in_and_fan_out(weight), (std::pair<int64_t, int64_t>{12, 18}));
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  EXPECT_LE(weight.abs().max().item<double>(), 1 / std::sqrt(12.0));
  init::kaiming_normal_(weight, 0, kFanOut, kReLU);
  EXPECT_NEAR(init::calculate_gain(kTanh), 5.0 / 3, 1e-12);
  const Tensor matrix = init::sparse_(taeda::empty({10, 3}), 0.5);
  EXPECT_EQ(matrix.eq(0).sum().item<int64_t>(), 15);
  const Tensor rows = init::orthogonal_(taeda::empty({3, 2, 4}), 2).reshape({3, 8});
  EXPECT_TRUE(taeda::allclose(rows.mm(rows.t()), taeda::eye(3) * 4, 1e-4, 1e-5));
  init::dirac_(weight);
  EXPECT_EQ(weight.sum().item<double>(), 4);
  EXPECT_EQ(weight[2][2][1].item<double>(), 1);
}

}  // namespace
}  // namespace taeda::nn
