// Leaves, views, in-place operations and saved tensors.
#include <gtest/gtest.h>

#include "taeda/autograd/saved.h"
#include "taeda/ops/functions.h"
#include "tests/autograd/values.h"

namespace taeda::autograd {
namespace {

TEST(Leaf, FlagsFollowTheRecordedOperations) {
  const Tensor a = leaf({1}), y = mul(a, a);
  EXPECT_TRUE(is_leaf(a));
  EXPECT_FALSE(is_leaf(y));
  EXPECT_TRUE(requires_grad(y));
  EXPECT_FALSE(requires_grad(detached(y)));
  const NoGrad off;
  EXPECT_FALSE(requires_grad(mul(a, a)));
}

TEST(Leaf, WrongFlags) {
  const Tensor a = leaf({1});
  expect_error("you can only change requires_grad flags of leaf variables.",
               [&] { set_requires_grad(mul(a, a), false); });
  expect_error("can require gradients",
               [] { set_requires_grad(make_tensor({2}, DType::Int64, DeviceType::CPU), true); });
  expect_error("can't assign Variable as its own grad", [&] { set_grad(a, a); });
  expect_error("attempting to assign a gradient of size '[2]' to a tensor of size '[1]'.",
               [&] { set_grad(a, tensor({1, 2})); });
}

TEST(InPlace, OnAResultIsDifferentiated) {
  const Tensor a = leaf({2, 3});
  Tensor y = mul(a, a);
  y.mul_(tensor({10, 100}));
  backward(y.sum());
  EXPECT_EQ(values(grad(a)), (Floats{40, 600}));
}

TEST(InPlace, OnALeafOrItsViewIsRefused) {
  Tensor a = leaf({1, 2});
  expect_error("a leaf Variable that requires grad is being used in an in-place operation.",
               [&] { a.mul_(tensor({1, 2})); });
  Tensor part = a.slice(0, 0, 1);
  expect_error(
      "a view of a leaf Variable that requires grad is being used in an in-place operation.",
      [&] { part.mul_(tensor({2})); });
  const NoGrad off;
  a.mul_(tensor({5, 5}));
  EXPECT_EQ(values(a), (Floats{5, 10}));
}

TEST(InPlace, OnAViewRewritesTheBasesHistory) {
  const Tensor a = leaf({2, 3});
  Tensor y = mul(a, a);
  Tensor part = y.slice(0, 1, 2);
  part.mul_(tensor({10}));
  EXPECT_STREQ(grad_fn(y)->name(), "torch::autograd::CopySlices");
  backward(y.sum());
  EXPECT_EQ(values(grad(a)), (Floats{4, 60}));
}

TEST(InPlace, OnAViewReachesTheOtherOperand) {
  const Tensor w = leaf({7});
  Tensor y = tensor({2, 3});
  Tensor part = y.slice(0, 1, 2);
  part.mul_(w);
  EXPECT_TRUE(requires_grad(y));
  EXPECT_EQ(values(run_backward({y.sum()}, {}, false, false, {w}, false, false)[0]), (Floats{3}));
}

TEST(InPlace, OnTheBaseReachesTheView) {
  const Tensor a = leaf({2, 3});
  Tensor y = mul(a, a);
  const Tensor part = y.slice(0, 1, 2);
  y.mul_(tensor({10, 100}));
  backward(part.sum());
  EXPECT_EQ(values(grad(a)), (Floats{0, 600}));
}

TEST(InPlace, OnABaseThatHadNoGradientReachesTheView) {
  const Tensor w = leaf({5, 7});
  Tensor y = tensor({2, 3});
  const Tensor part = y.slice(0, 1, 2);
  y.mul_(w);
  ASSERT_TRUE(requires_grad(part));
  backward(part.sum());
  EXPECT_EQ(values(grad(w)), (Floats{0, 3}));
}

TEST(InPlace, OnOneViewReachesAnother) {
  const Tensor a = leaf({2, 3, 4});
  Tensor y = mul(a, a);
  Tensor front = y.slice(0, 0, 2);
  const Tensor back = y.slice(0, 1, 3);
  front.mul_(tensor({10, 100}));
  backward(back.sum());
  EXPECT_EQ(values(grad(a)), (Floats{0, 600, 8}));
}

TEST(InPlace, ViewsOfNoGradAndOfSeveralOutputsAreRefused) {
  const Tensor a = leaf({1, 2});
  Tensor y = mul(a, a);
  Tensor hidden;
  {
    const NoGrad off;
    hidden = y.slice(0, 0, 1);
  }
  expect_error(
      "A view was created in no_grad mode and is being modified inplace with grad mode enabled.",
      [&] { hidden.mul_(tensor({2})); });
  std::vector<Tensor> parts = y.split(1);
  expect_error(
      "is a view and is being modified inplace. This view is the output of a function that returns "
      "multiple "
      "views.",
      [&] { parts[0].mul_(tensor({2})); });
  y.mul_(tensor({1, 1}));
  expect_error("its base or another view of its base has been modified inplace",
               [&] { grad_fn(hidden); });
}

TEST(InPlace, OnAViewCanBeDifferentiatedTwice) {
  const Tensor a = leaf({2, 3});
  Tensor y = mul(a, a);
  Tensor part = y.slice(0, 1, 2);
  part.mul_(part.clone());  // a^4
  const Tensor first = run_backward({y.sum()}, {}, true, true, {a}, false, false)[0];
  EXPECT_EQ(values(first), (Floats{4, 108}));
  EXPECT_EQ(values(run_backward({first.sum()}, {}, false, false, {a}, false, false)[0]),
            (Floats{2, 108}));
}

TEST(Saved, NoticesModification) {
  const Tensor a = leaf({1, 2});
  Tensor b = tensor({3, 4});
  const Tensor y = mul(a, b).sum();
  b.mul_(tensor({2, 2}));
  expect_error(
      "one of the variables needed for gradient computation has been modified by an inplace "
      "operation: "
      "[torch.FloatTensor [2]] is at version 1; expected version 0 instead. Hint:",
      [&] { backward(y); });
}

TEST(Saved, NamesTheOutputThatWasModified) {
  const Tensor a = leaf({1, 2});
  Tensor y = a.exp();
  y.mul_(tensor({2, 2}));
  expect_error("[torch.FloatTensor [2]], which is output 0 of Exp, is at version 1; expected",
               [&] { backward(y.sum()); });
}

TEST(Saved, OutputsAreFreedWithTheTensor) {
  const Tensor a = leaf({1});
  WeakPtr<Node> node;
  {
    const Tensor y = a.exp();
    node = WeakPtr<Node>(grad_fn(y));
  }
  EXPECT_FALSE(node.lock());
}

TEST(Out, RefusesTensorsThatRequireGrad) {
  const Tensor a = leaf({1});
  expect_error(
      "add(): functions with out=... arguments don't support automatic differentiation, but one of "
      "the arguments "
      "requires grad.",
      [&] { check_out_without_grad("add", a, a, tensor({0})); });
  const NoGrad off;
  check_out_without_grad("add", a, a, tensor({0}));
}

}  // namespace
}  // namespace taeda::autograd
