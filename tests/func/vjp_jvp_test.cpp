// vjp and jvp: products with Jacobians, several results, aux, and what they refuse.
#include "taeda/autograd/variable.h"
#include "tests/func/values.h"

namespace taeda::func {
namespace {

// Of two arguments, with two results: (a*b, a + 2b).
std::tuple<Tensor, Tensor> two(const Tensor& a, const Tensor& b) {
  return {a.mul(b), a.add(b.mul(2))};
}

TEST(Vjp, GivesValueAndGradients) {
  const Tensor x = vec({0, 1});
  const auto [value, pull] = vjp([](const Tensor& t) { return t.sin(); }, x);
  expect_near(value, {0, std::sin(1.0)});
  EXPECT_EQ(dispatch::wrapper_of(value), nullptr);
  const auto [g] = pull(vec({2, 3}));
  expect_near(g, {2, 3 * std::cos(1.0)});
  const auto [again] = pull(vec({1, 0}));
  expect_near(again, {1, 0});
  EXPECT_EQ(dispatch::num_levels(), 0u);
}

TEST(Vjp, OfSeveralArgumentsAndResults) {
  const auto [value, pull] = vjp(two, vec({2, 3}), vec({5, 7}));
  expect_near(std::get<0>(value), {10, 21});
  expect_near(std::get<1>(value), {12, 17});
  const auto [ga, gb] = pull({vec({1, 1}), vec({10, 100})});
  expect_near(ga, {15, 107});
  expect_near(gb, {22, 203});
}

TEST(Vjp, OfVectors) {
  const auto f = [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{x[0].mul(x[1]), x[0].mul(3)};
  };
  const auto [value, pull] = vjp(f, std::vector<Tensor>{vec({2}), vec({5}), vec({1, 1})});
  ASSERT_EQ(value.size(), 2u);
  const auto [g] = pull({vec({1}), vec({10})});
  expect_near(g[0], {35});
  expect_near(g[1], {2});
  expect_near(g[2], {0, 0});
  expect_error(ErrorKind::Runtime,
               "Expected pytree structure of cotangents to be the same as pytree structure of "
               "outputs to the function. cotangents: [*], primal output: [*, *]",
               [&, &pull = pull] { pull({vec({1})}); });
}

TEST(Vjp, HasAux) {
  const auto f = [](const Tensor& t) { return std::pair(t.exp(), t.neg()); };
  const auto [value, pull, aux] = vjp(has_aux, f, vec({0}));
  expect_near(value, {1});
  expect_near(aux, {0});
  expect_near(std::get<0>(pull(vec({4}))), {4});
}

TEST(Vjp, LetsTheGraphGoWhenAsked) {
  const auto [value, pull] = vjp([](const Tensor& t) { return t.mul(t); }, vec({3}));
  expect_near(std::get<0>(pull(vec({1}), /*keep_graph=*/false)), {6});
  expect_error(ErrorKind::Runtime, "backward through the graph a second time",
               [&, &pull = pull] { pull(vec({1})); });
}

TEST(Vjp, Refuses) {
  const Tensor x = vec({1, 2});
  expect_error(ErrorKind::Runtime, "Expected f to be a function that has non-empty output",
               [&] { vjp([](const Tensor&) { return std::vector<Tensor>(); }, x); });
  expect_error(ErrorKind::Runtime,
               "All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
               "torch.bool",
               [&] { vjp([](const Tensor& t) { return t.gt(0); }, x); });
}

TEST(Jvp, GivesValueAndTangent) {
  const auto [value, tangent] =
      jvp([](const Tensor& t) { return t.sin(); }, vec({0, 1}), vec({2, 3}));
  expect_near(value, {0, std::sin(1.0)});
  expect_near(tangent, {2, 3 * std::cos(1.0)});
  EXPECT_EQ(dispatch::wrapper_of(tangent), nullptr);
  EXPECT_FALSE(value.impl()->has_tangent());
}

TEST(Jvp, OfSeveralArgumentsAndResults) {
  const auto [value, tangent] =
      jvp(two, std::tuple(vec({2, 3}), vec({5, 7})), std::tuple(vec({1, 0}), vec({0, 1})));
  expect_near(std::get<0>(value), {10, 21});
  expect_near(std::get<0>(tangent), {5, 3});
  expect_near(std::get<1>(tangent), {1, 2});
}

TEST(Jvp, AuxAndIndependentResults) {
  const Tensor x = vec({2}), v = vec({1});
  const auto f = [&](const Tensor& t) { return std::pair(std::tuple(t.mul(t), v.mul(3)), t); };
  const auto [value, tangent, aux] = jvp(has_aux, f, x, v);
  expect_near(std::get<0>(tangent), {4});
  expect_near(std::get<1>(tangent), {0});
  expect_near(std::get<1>(value), {3});
  expect_near(aux, {2});
  EXPECT_FALSE(aux.impl()->has_tangent());
}

TEST(Jvp, Refuses) {
  const Tensor x = vec({1, 2});
  const std::vector<Tensor> one{x}, two_of{x, x}, none;
  const auto first = [](const std::vector<Tensor>& t) { return t[0].mul(2); };
  expect_error(ErrorKind::Runtime,
               "jvp(f, primals, tangents): Expected primals and tangents to have the same python "
               "structure. For example, if primals is a tuple of 3 tensors, tangents also must be. "
               "Got primals with structure ([*, *]) and tangents with structure ([*])",
               [&] { jvp(first, two_of, one); });
  expect_error(ErrorKind::Runtime, "Expected primals to contain at least one Tensor",
               [&] { jvp(first, none, none); });
  expect_error(ErrorKind::Runtime, "The output of f is independent of the inputs",
               [&] { jvp([&](const Tensor&) { return x.mul(2); }, x, x, /*is_strict=*/true); });
  expect_error(ErrorKind::Runtime, "Expected f to be a function that has non-empty output",
               [&] { jvp([](const Tensor&) { return std::vector<Tensor>(); }, x, x); });
  EXPECT_THROW(jvp([](const Tensor& t) { return t.mul(2); }, x, vec({1, 2, 3})), Error);
  EXPECT_EQ(dispatch::num_levels(), 0u);
}

}  // namespace
}  // namespace taeda::func
