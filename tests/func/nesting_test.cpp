// Transforms inside each other, against closed forms, and the stack of levels after exceptions.
#include <stdexcept>

#include "taeda/autograd/grad_level.h"
#include "taeda/autograd/variable.h"
#include "tests/func/values.h"

namespace taeda::func {
namespace {

Tensor cube(const Tensor& x) { return x.pow(3); }
// sum of x_i^2 x_j over all pairs: its Hessian is not diagonal.
Tensor coupled(const Tensor& x) { return x.mul(x).sum().mul(x.sum()); }

TEST(Nesting, GradOfGrad) {
  const auto first = [](const Tensor& x) { return grad(cube_sum)(x).sum(); };
  expect_near(grad(first)(vec({1, 2})), {6, 12});
  const auto second = [&](const Tensor& x) { return grad(first)(x).sum(); };
  expect_near(grad(second)(vec({1, 2})), {6, 6});
  expect_near(grad(grad(grad(cube)))(vec({5}).sum()), {6});
}

TEST(Nesting, VmapOfGradAndGradOfVmap) {
  const Tensor x = vec({1, 2, 3, 4}).view({2, 2});
  expect_near(vmap(grad(cube_sum))(x), {3, 12, 27, 48});
  expect_near(grad([](const Tensor& t) { return vmap(cube_sum)(t).sum(); })(x), {3, 12, 27, 48});
  expect_near(vmap(vmap(grad(cube)))(x), {3, 12, 27, 48});
}

TEST(Nesting, GradientsOfEachExample) {
  const auto loss = [](const Tensor& w, const Tensor& x, const Tensor& y) {
    return w.mul(x).sum().sub(y).pow(2);
  };
  const Tensor w = vec({1, 2}), x = vec({1, 0, 0, 1, 1, 1}).view({3, 2}), y = vec({0, 0, 1});
  // 2 (w.x - y) x
  expect_near(vmap(grad(loss), {std::nullopt, 0, 0})(w, x, y), {2, 0, 0, 4, 4, 4});
}

// At (1, 2) the Hessian of coupled is [[10, 6], [6, 14]]: 4 x_i + 2 sum(x) on the diagonal, 2
// sum(x) off it.
TEST(Nesting, HessianProductsInBothModes) {
  const Tensor x = vec({1, 2}), v = vec({1, -1});
  expect_near(jvp(grad(coupled), x, v).second, {4, -8});
  const auto pulled = [](const Tensor& t) {
    const auto [value, pull] = vjp(coupled, t);
    return std::get<0>(pull(taeda::ones_like(value)));
  };
  expect_near(jvp(pulled, x, v).second, {4, -8});
  const auto [value, pull] = vjp(grad(coupled), x);
  expect_near(std::get<0>(pull(v)), {4, -8});
  expect_near(grad([&](const Tensor& t) { return jvp(coupled, t, v).second; })(x), {4, -8});
}

TEST(Nesting, WholeHessiansByVmap) {
  const Tensor x = vec({1, 2}), eye = vec({1, 0, 0, 1}).view({2, 2});
  const auto column = [&](const Tensor& v) { return jvp(grad(coupled), x, v).second; };
  expect_near(vmap(column)(eye), {10, 6, 6, 14});
  const auto [value, pull] = vjp(grad(coupled), x);
  const auto row = [&, &pull = pull](const Tensor& v) { return std::get<0>(pull(v)); };
  expect_near(vmap(row)(eye), {10, 6, 6, 14});
}

TEST(Nesting, JvpOfVmapAndVmapOfJvp) {
  const Tensor x = vec({1, 2, 3, 4}).view({2, 2}), v = vec({1, 1, 0, 1}).view({2, 2});
  expect_near(jvp(vmap(cube_sum), x, v).second, {15, 48});
  const auto pushed = [](const Tensor& a, const Tensor& b) { return jvp(cube_sum, a, b).second; };
  expect_near(vmap(pushed)(x, v), {15, 48});
}

TEST(Nesting, JvpOfJvp) {
  const auto first = [](const Tensor& x) { return jvp(cube, x, taeda::ones_like(x)).second; };
  expect_near(jvp(first, vec({1, 2}), vec({1, 1})).second, {6, 12});
}

TEST(Nesting, LevelsSeeOnlyTheirOwnPerturbation) {
  // d/dx [x * d/dy (x + y)] = 1: mixing the two levels up would give 2.
  const auto f = [](const Tensor& x) {
    return x.mul(grad([&](const Tensor& y) { return x.add(y); })(x));
  };
  expect_near(grad(f)(vec({3}).sum()), {1});
  const auto g = [](const Tensor& x) {
    return x.mul(jvp([&](const Tensor& y) { return x.add(y); }, x, taeda::ones_like(x)).second);
  };
  expect_near(jvp(g, vec({3}), vec({1})).second, {1});
}

struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(Nesting, ExceptionsLeaveNoLevels) {
  const Tensor x = vec({1, 2, 3, 4}).view({2, 2});
  const auto fails = [](const Tensor& t) -> Tensor {
    EXPECT_GT(dispatch::num_levels(), 0u);
    t.mul(t);
    throw Interrupted("user");
  };
  const autograd::NoGrad off;
  const LocalKeys keys = local_keys();
  EXPECT_THROW(grad(fails)(x), Interrupted);
  EXPECT_THROW(vjp(fails, x), Interrupted);
  EXPECT_THROW(jvp(fails, x, x), Interrupted);
  EXPECT_THROW(vmap(fails)(x), Interrupted);
  EXPECT_THROW(vmap(grad(fails))(x), Interrupted);
  EXPECT_THROW(grad([&](const Tensor& t) { return jvp(vmap(fails), t, t).second; })(x),
               Interrupted);
  EXPECT_EQ(dispatch::num_levels(), 0u);
  EXPECT_FALSE(autograd::grad_enabled());
  EXPECT_TRUE(keys.include == local_keys().include && keys.exclude == local_keys().exclude);
  expect_near(grad(cube_sum)(vec({2})), {12});
}

TEST(Nesting, CaughtInsideTheOuterLevelGoesOn) {
  const auto f = [](const Tensor& x) {
    try {
      vmap([](const Tensor&) -> Tensor { throw Interrupted("inner"); })(x);
    } catch (const Interrupted&) {
    }
    EXPECT_EQ(dispatch::num_levels(), 1u);
    return x.mul(x).sum();
  };
  expect_near(grad(f)(vec({3})), {6});
}

TEST(Nesting, LevelsLeftBehindEndWithTheScopeAroundThem) {
  const auto f = [](const Tensor& x) {
    dispatch::push_level(dispatch::LevelKind::Vmap).batch_size = 2;
    autograd::enter_jvp_level();
    return x.sum();
  };
  EXPECT_THROW(grad([&](const Tensor& x) -> Tensor {
                 f(x);
                 throw Interrupted("levels are on");
               })(vec({1})),
               Interrupted);
  EXPECT_EQ(dispatch::num_levels(), 0u);
  EXPECT_TRUE(autograd::grad_enabled());
}

}  // namespace
}  // namespace taeda::func
