// Derivatives from C++: backward, grad, guards, functions of one's own.
#include <gtest/gtest.h>

#include "tests/cpp/values.h"

namespace taeda {
namespace {

using Doubles = std::vector<double>;

TEST(Autograd, BackwardFillsTheLeaves) {
  Tensor w = tensor({1.0, 2.0});
  w.requires_grad_();
  (w * w * 3).sum().backward();
  EXPECT_EQ(values(w.grad()), Doubles({6, 12}));
  w.mutable_grad().reset();
  EXPECT_FALSE(w.grad().defined());
}

TEST(Autograd, BackwardMayGoToSomeInputsOnly) {
  const Tensor a = ones(1, requires_grad()), b = ones(1, requires_grad());
  (a * b).backward({}, std::nullopt, false, std::vector<Tensor>{a});
  EXPECT_TRUE(a.grad().defined());
  EXPECT_FALSE(b.grad().defined());
}

TEST(Autograd, GradReturnsGradients) {
  const Tensor x = tensor({2.0}, requires_grad());
  const Tensor first = grad({x.pow(3)}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
  EXPECT_EQ(values(first), Doubles({12}));
  EXPECT_EQ(values(autograd::grad({first}, {x})[0]), Doubles({12}));
  const Tensor other = ones(1, requires_grad());
  EXPECT_THROW(grad({x * 2}, {other}), Error);
  EXPECT_FALSE(grad({x * 2}, {other}, {}, std::nullopt, false, /*allow_unused=*/true)[0].defined());
  EXPECT_THROW(grad({x * 2}, {x}, {x, x}), Error);
}

TEST(Autograd, GuardsTurnRecordingOffAndOn) {
  const Tensor x = ones(1, requires_grad());
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE((x * 2).requires_grad() || GradMode::is_enabled());
    const AutoGradMode enabled(true);
    EXPECT_TRUE((x * 2).requires_grad());
  }
  EXPECT_TRUE((x * 2).requires_grad());
  {
    const InferenceMode inference;
    EXPECT_TRUE(ones(1).is_inference());
    EXPECT_FALSE(GradMode::is_enabled());
  }
  EXPECT_FALSE(InferenceMode::is_enabled());
  EXPECT_TRUE(GradMode::is_enabled());
}

struct Cube : autograd::Function<Cube> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static std::vector<Tensor> backward(autograd::AutogradContext* ctx, std::vector<Tensor> grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * 3 * x * x};
  }
};

TEST(Autograd, FunctionsOfOnesOwn) {
  const Tensor x = tensor({2.0}, requires_grad());
  Cube::apply(x).backward();
  EXPECT_EQ(values(x.grad()), Doubles({12}));
}

TEST(Autograd, HooksAndDetach) {
  Tensor x = tensor({2.0}, requires_grad());
  x.register_hook([](const Tensor& g) { return g * 10; });
  Tensor y = x * 3;
  y.backward();
  EXPECT_EQ(values(x.grad()), Doubles({30}));
  EXPECT_FALSE(y.detach_().requires_grad());
}

}  // namespace
}  // namespace taeda
