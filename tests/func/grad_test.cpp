// grad and grad_and_value: closed forms, argument numbers, trees, aux, and what they refuse.
#include "taeda/func/grad.h"

#include "taeda/autograd/engine.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/autograd/variable.h"
#include "tests/func/values.h"

namespace taeda::func {
namespace {

Tensor product_sum(const Tensor& a, const Tensor& b) { return a.mul(a).mul(b).sum(); }

TEST(Grad, OfOneTensor) {
  expect_near(grad(cube_sum)(vec({1, 2, 3})), {3, 12, 27});
  expect_near(grad([](Tensor x) { return x.sin().sum(); })(vec({0, 1})), {1, std::cos(1.0)});
}

TEST(Grad, ByChosenArguments) {
  const Tensor a = vec({2, 3}), b = vec({5, 7});
  expect_near(grad(product_sum)(a, b), {20, 42});
  expect_near(grad(product_sum, 1)(a, b), {4, 9});
  expect_near(grad(product_sum, -1)(a, b), {4, 9});
  expect_near(grad<1>(product_sum)(a, b), {4, 9});
  const std::vector<Tensor> both = grad(product_sum, {1, 0})(a, b);
  expect_near(both[0], {4, 9});
  expect_near(both[1], {20, 42});
  EXPECT_EQ(grad(product_sum, {0})(a, b).size(), 1u);
  const auto [ga, gb] = grad<0, 1>(product_sum)(a, b);
  expect_near(ga, {20, 42});
  expect_near(gb, {4, 9});
}

TEST(Grad, OfTrees) {
  using Weights = std::map<std::string, Tensor>;
  const auto loss = [](const Weights& w, const std::vector<Tensor>& x, double scale) {
    return w.at("w").mul(x[0]).add(w.at("b")).mul(Scalar(scale)).sum();
  };
  const Weights w = {{"w", vec({1, 2})}, {"b", vec({0, 0})}, {"unused", vec({9})}};
  const Weights g = grad(loss)(w, std::vector<Tensor>{vec({3, 4})}, 10.0);
  expect_near(g.at("w"), {30, 40});
  expect_near(g.at("b"), {10, 10});
  expect_near(g.at("unused"), {0});
  const std::vector<Tensor> gx = grad<1>(loss)(w, std::vector<Tensor>{vec({3, 4})}, 10.0);
  expect_near(gx[0], {10, 20});
}

TEST(Grad, WithValueAndAux) {
  const Tensor x = vec({1, 2});
  const auto [gradient, value] = grad_and_value(cube_sum)(x);
  expect_near(gradient, {3, 12});
  EXPECT_EQ(number(value), 9.0);
  EXPECT_EQ(grad_and_value(product_sum, {0, 1})(x, x).first.size(), 2u);

  const auto with_aux = [](const Tensor& t) { return std::pair(t.pow(3).sum(), t.mul(2)); };
  const auto [again, aux] = grad(has_aux, with_aux)(x);
  expect_near(again, {3, 12});
  expect_near(aux, {2, 4});
  EXPECT_EQ(dispatch::wrapper_of(aux), nullptr);
  const auto [third, rest] = grad_and_value(has_aux, with_aux)(x);
  expect_near(third, {3, 12});
  EXPECT_EQ(number(rest.first), 9.0);
  expect_near(rest.second, {2, 4});
}

TEST(Grad, IsZeroWhereNothingFlows) {
  const Tensor y = vec({1, 1});
  expect_near(grad([&](const Tensor&) { return y.sum(); })(vec({3, 4})), {0, 0});
  expect_near(grad([](const Tensor& x) { return x.detach().sum(); })(vec({3, 4})), {0, 0});
}

TEST(Grad, RecordsWhateverHoldsOutside) {
  const autograd::NoGrad off;
  expect_near(grad(cube_sum)(vec({2})), {12});
  EXPECT_FALSE(autograd::grad_enabled());
}

TEST(Grad, FunctionsMayWriteToTheirArguments) {
  const Tensor x = vec({1, 2});
  const auto doubled = [](Tensor t, Tensor constant) {
    Tensor own = t.mul(1);
    own.mul_(t);
    constant.add_(1);
    return own.mul(constant).sum();
  };
  const Tensor c = vec({2, 2});
  expect_near(grad(doubled)(x, c), {6, 12});
  expect_near(c, {3, 3});
}

TEST(Grad, OutsideHistoryStaysOutside) {
  const Tensor x = vec({2});
  autograd::set_requires_grad(x, true);
  const Tensor g = grad(cube_sum)(x.mul(1));
  EXPECT_TRUE(autograd::requires_grad(g));
  const std::vector<Tensor> second =
      autograd::run_backward({g.sum()}, {}, false, false, {x}, false, false);
  expect_near(second[0], {12});
}

TEST(Grad, FunctionsMayReadNumbers) {
  const auto f = [](const Tensor& x) { return x.mul(x.select(0, 1).item()).sum(); };
  expect_near(grad(f)(vec({1, 5})), {5, 5});
}

TEST(Grad, Refuses) {
  const Tensor x = vec({1, 2});
  expect_error(ErrorKind::Runtime,
               "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
               "with 1 dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
               [&] { grad([](const Tensor& t) { return t.mul(2); })(x); });
  expect_error(ErrorKind::Runtime, "Expected f(*args) to return a Tensor",
               [&] { grad([](const Tensor&) { return Tensor(); })(x); });
  expect_error(ErrorKind::Runtime, "Got argnum=2, but only 2 positional inputs",
               [&] { grad(product_sum, 2)(x, x); });
  expect_error(ErrorKind::Runtime, "Got argnum=-3, but only 2 positional inputs",
               [&] { grad(product_sum, {0, -3})(x, x); });
  expect_error(ErrorKind::Runtime, "argnums must be non-empty",
               [&] { grad(product_sum, std::vector<int64_t>())(x, x); });
  expect_error(ErrorKind::Runtime, "argnums elements must be unique, got [1, 1]",
               [&] { grad(product_sum, {1, 1})(x, x); });
  expect_error(ErrorKind::Runtime, "would mutate a captured Tensor", [&] {
    Tensor captured = vec({0, 0});
    grad([&](const Tensor& t) { return captured.add_(t).sum(); })(x);
  });
  expect_error(ErrorKind::Runtime, "only Tensors of floating point",
               [&] { grad(cube_sum)(x.to(DType::Int64)); });
}

struct Hooks final : autograd::SavedTensorHooks {
  IntrusivePtr<autograd::PackedTensor> pack(const Tensor&) override { return nullptr; }
};

TEST(Grad, RefusesHooksOnSavedTensors) {
  const char* const text = "don't yet support saved tensor hooks";
  const auto f = [](const Tensor& x) {
    autograd::push_saved_tensor_hooks(make_intrusive<Hooks>());
    return x.sum();
  };
  expect_error(ErrorKind::Runtime, text, [&] { grad(f)(vec({1})); });
  expect_error(ErrorKind::Runtime, text, [&] { vjp(f, vec({1})); });
  // An inner level leaves the outer one's word in force.
  expect_error(ErrorKind::Runtime, text, [&] {
    grad([&](const Tensor& x) {
      grad(cube_sum)(x);
      return f(x);
    })(vec({1}));
  });
  autograd::push_saved_tensor_hooks(make_intrusive<Hooks>());
  expect_error(ErrorKind::Runtime, text, [&] { grad(cube_sum)(vec({1})); });
  autograd::pop_saved_tensor_hooks();
}

}  // namespace
}  // namespace taeda::func
