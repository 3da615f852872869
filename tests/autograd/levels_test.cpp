// Transform levels from C++: vmap, grad and jvp alone and inside each other.
#include "taeda/dispatch/levels.h"

#include <gtest/gtest.h>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/grad_level.h"
#include "taeda/fx/functionalize.h"
#include "taeda/ops/functions.h"

namespace taeda {
namespace {

using dispatch::LevelKind;

Tensor range(int64_t n) { return taeda::arange(Scalar(n), DType::Float, {}, Device()); }

template <class F>
Tensor vmap(F&& f, const Tensor& x) {
  dispatch::Level& level = dispatch::push_level(LevelKind::Vmap);
  level.batch_size = x.size(0);
  const uint64_t id = level.id;
  const Tensor out = f(dispatch::make_wrapper(x, id, 0));
  const dispatch::LevelWrapper* w = dispatch::wrapper_at(out, id);
  const Tensor value = w->value.movedim(w->batch_dim, 0);
  dispatch::pop_level(id);
  return value;
}

template <class F>
Tensor grad(F&& f, const Tensor& x) {
  const uint64_t id = autograd::enter_grad_level();
  const Tensor input = dispatch::make_wrapper(x, id);
  autograd::set_requires_grad(input, true);
  const Tensor out = f(input);
  const Tensor roots[] = {out}, inputs[] = {input};
  const std::vector<Tensor> grads =
      autograd::run_backward(roots, {}, false, false, inputs, false, false);
  const Tensor value = dispatch::wrapper_at(grads[0], id)->value;
  autograd::exit_level(id);
  return value;
}

template <class F>
Tensor jvp(F&& f, const Tensor& x, const Tensor& tangent) {
  const uint64_t id = autograd::enter_jvp_level();
  const Tensor dual =
      autograd::make_dual(dispatch::make_wrapper(x, id), dispatch::make_wrapper(tangent, id));
  const Tensor pushed = autograd::tangent_of(f(dual));
  const Tensor value = dispatch::wrapper_at(pushed, id)->value;
  autograd::exit_level(id);
  return value;
}

bool same(const Tensor& a, const Tensor& b) { return taeda::equal(a, b); }

TEST(Levels, VmapRunsTheBatchAtOnce) {
  const Tensor x = range(6).view({3, 2});
  EXPECT_TRUE(same(vmap([](const Tensor& row) { return row.sum(); }, x), x.sum(IntList({1}))));
  EXPECT_EQ(dispatch::num_levels(), 0U);
}

TEST(Levels, GradOfGrad) {
  const Tensor x = range(3);
  const auto cube = [](const Tensor& a) { return a.pow(Scalar(3)).sum(); };
  const Tensor second = grad([&](const Tensor& a) { return grad(cube, a).sum(); }, x);
  EXPECT_TRUE(same(second, x.mul(Scalar(6))));
}

TEST(Levels, TransformsNest) {
  const Tensor x = range(6).view({3, 2});
  const auto square = [](const Tensor& a) { return a.mul(a).sum(); };
  const Tensor twice = x.mul(Scalar(2));
  EXPECT_TRUE(same(vmap([&](const Tensor& a) { return grad(square, a); }, x), twice));
  EXPECT_TRUE(same(grad([&](const Tensor& a) { return vmap(square, a).sum(); }, x), twice));
  const Tensor ones = taeda::ones_like(x);
  EXPECT_TRUE(same(jvp([&](const Tensor& a) { return grad(square, a); }, x, ones),
                   taeda::full_like(x, Scalar(2))));
}

TEST(Levels, ModesOfTheOutsideComeBack) {
  const autograd::NoGrad off;
  const Tensor x = range(3);
  EXPECT_TRUE(same(grad([](const Tensor& a) { return a.mul(a).sum(); }, x), x.mul(Scalar(2))));
  EXPECT_FALSE(autograd::grad_enabled());
}

TEST(Levels, AWrapperThatOutlivesItsLevel) {
  const uint64_t grad_level = autograd::enter_grad_level();
  const Tensor kept = dispatch::make_wrapper(range(3), grad_level);
  autograd::exit_level(grad_level);
  EXPECT_TRUE(same(kept.add(Scalar(1)), range(3).add(Scalar(1))));
  dispatch::Level& level = dispatch::push_level(LevelKind::Vmap);
  level.batch_size = 3;
  const uint64_t id = level.id;
  const Tensor batched = dispatch::make_wrapper(range(3), id, 0);
  dispatch::pop_level(id);
  EXPECT_THROW(batched.add(Scalar(1)), Error);
}

TEST(Levels, EndInReverseOrder) {
  const uint64_t outer = autograd::enter_grad_level(), inner = autograd::enter_jvp_level();
  EXPECT_THROW(dispatch::pop_level(outer), Error);
  autograd::exit_level(inner);
  autograd::exit_level(outer);
}

TEST(Functionalize, WritesThroughViewsBecomeValues) {
  const Tensor x = range(4);
  const uint64_t id = fx::enter_functionalize_level(false);
  Tensor a = fx::make_functional(x, id);
  a.view({2, 2}).select(0, 1).add_(Scalar(10));
  const Tensor value = fx::functional_value(a, id);
  EXPECT_TRUE(fx::is_written(a, id));
  fx::exit_functionalize_level(id);
  EXPECT_TRUE(same(x, range(4)));
  EXPECT_EQ(read_scalar(value.select(0, 3)).to_double(), 13.0);
}

}  // namespace
}  // namespace taeda
