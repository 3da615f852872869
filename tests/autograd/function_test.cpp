// Functions with a backward of their own, written in C++.
#include "taeda/autograd/function.h"

#include "taeda/ops/functions.h"
#include "tests/autograd/values.h"

namespace taeda::autograd {
namespace {

struct Scale : Function<Scale> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double factor) {
    ctx->saved_data["factor"] = factor;
    ctx->save_for_backward({x});
    return mul(x, Scalar(factor));
  }
  static std::vector<Tensor> backward(AutogradContext* ctx, std::vector<Tensor> grads) {
    EXPECT_EQ(ctx->get_saved_variables().size(), 1u);
    return {mul(grads[0], Scalar(ctx->saved_data["factor"].to_double())), Tensor()};
  }
};

TEST(Function, CallsItsOwnBackward) {
  const Tensor x = leaf({1, 2});
  const Tensor y = Scale::apply(x, 3.0);
  EXPECT_STREQ(grad_fn(y)->name(), "ScaleBackward");
  backward(y.sum());
  EXPECT_EQ(values(grad(x)), (Floats{3, 3}));
}

TEST(Function, RecordsNothingWhereNothingIsAsked) {
  EXPECT_FALSE(requires_grad(Scale::apply(tensor({1}), 3.0)));
  const NoGrad unrecorded;
  EXPECT_FALSE(requires_grad(Scale::apply(leaf({1}), 3.0)));
}

struct Cube : Function<Cube> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    ctx->save_for_backward({x});
    return mul(mul(x, x), x);
  }
  static std::vector<Tensor> backward(AutogradContext* ctx, std::vector<Tensor> grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {mul(grads[0], mul(mul(x, x), Scalar(3)))};
  }
};

TEST(Function, IsDifferentiableTwiceAndThrice) {
  const Tensor x = leaf({2});
  Tensor y = Cube::apply(x);
  const float expected[] = {12, 12, 6};
  for (const float value : expected) {
    y = run_backward({y.sum()}, {}, true, true, {x}, false, false)[0];
    EXPECT_EQ(values(y), (Floats{value}));
  }
}

TEST(Function, SavedTensorsAreFreedAndChecked) {
  const Tensor x = leaf({2});
  const Tensor y = Cube::apply(x).sum();
  backward(y);
  expect_error("Trying to backward through the graph a second time", [&] { backward(y); });

  Tensor inner = mul(leaf({2}), tensor({1}));
  const Tensor z = Cube::apply(inner).sum();
  inner.add_(tensor({1}));
  expect_error("has been modified by an inplace operation", [&] { backward(z); });
}

struct Split : Function<Split> {
  static std::vector<Tensor> forward(AutogradContext* ctx, const std::vector<Tensor>& parts) {
    Tensor first = parts[0].clone(), flags = parts[1].clone();
    ctx->mark_non_differentiable({flags});
    return {first, flags, parts[1].clone()};
  }
  static std::vector<Tensor> backward(AutogradContext* ctx, std::vector<Tensor> grads) {
    EXPECT_TRUE(ctx->needs_input_grad(0));
    EXPECT_FALSE(ctx->needs_input_grad(1));
    EXPECT_EQ(values(grads[1]), (Floats{0}));  // made for an output nobody differentiates
    EXPECT_EQ(values(grads[2]), (Floats{0}));
    return {grads[0], Tensor()};
  }
};

TEST(Function, TakesAndReturnsLists) {
  const Tensor a = leaf({1}), b = tensor({5});
  const std::vector<Tensor> outputs = Split::apply(std::vector<Tensor>{a, b});
  EXPECT_TRUE(requires_grad(outputs[0]));
  EXPECT_FALSE(requires_grad(outputs[1]));
  backward(outputs[0]);
  EXPECT_EQ(values(grad(a)), (Floats{1}));
}

struct AddOne : Function<AddOne> {
  static Tensor forward(AutogradContext* ctx, Tensor x, const Tensor& unused) {
    EXPECT_FALSE(unused.defined());
    x.add_(tensor({1}));
    ctx->mark_dirty({x});
    return x;
  }
  static std::vector<Tensor> backward(AutogradContext*, std::vector<Tensor> grads) {
    return {mul(grads[0], Scalar(10)), Tensor()};
  }
};

TEST(Function, InPlaceBecomesTheHistoryOfItsArgument) {
  const Tensor a = leaf({1, 2});
  Tensor x = mul(a, tensor({1, 1}));
  const Tensor y = AddOne::apply(x, Tensor());
  EXPECT_TRUE(y.is_same(x));
  EXPECT_STREQ(grad_fn(x)->name(), "AddOneBackward");
  backward(x.sum());
  EXPECT_EQ(values(grad(a)), (Floats{10, 10}));
}

TEST(Function, InPlaceOnAViewRewritesTheBase) {
  const Tensor a = leaf({1, 2});
  const Tensor x = mul(a, tensor({1, 1}));
  AddOne::apply(x.slice(0, 0, 1), Tensor());
  EXPECT_STREQ(grad_fn(x)->name(), "torch::autograd::CopySlices");
  backward(x.sum());
  EXPECT_EQ(values(grad(a)), (Floats{10, 1}));
}

TEST(Function, InPlaceOnALeafIsRefused) {
  expect_error("a leaf Variable that requires grad has been used in an in-place operation",
               [] { AddOne::apply(leaf({1}), Tensor()); });
}

struct Same : Function<Same> {
  static Tensor forward(AutogradContext*, Tensor x) { return x; }
  static std::vector<Tensor> backward(AutogradContext*, std::vector<Tensor> grads) {
    return {mul(grads[0], Scalar(5))};
  }
};

TEST(Function, ReturnedInputIsAViewThatMustNotBeWritten) {
  const Tensor x = leaf({1});
  Tensor y = Same::apply(x);
  EXPECT_FALSE(y.is_same(x));
  EXPECT_TRUE(y.is_view());
  expect_error("This view was created inside a custom Function", [&] { y.add_(tensor({1})); });
  backward(y);
  EXPECT_EQ(values(grad(x)), (Floats{5}));
}

struct Miscounts : Function<Miscounts> {
  static Tensor forward(AutogradContext*, Tensor x, int64_t) { return x.clone(); }
  static std::vector<Tensor> backward(AutogradContext*, std::vector<Tensor> grads) {
    return {grads[0]};
  }
};
struct GradientOfANumber : Function<GradientOfANumber> {
  static Tensor forward(AutogradContext*, Tensor x, int64_t) { return x.clone(); }
  static std::vector<Tensor> backward(AutogradContext*, std::vector<Tensor> grads) {
    return {grads[0], grads[0]};
  }
};

TEST(Function, WrongGradients) {
  expect_error(
      "function MiscountsBackward returned an incorrect number of gradients (expected 2, got 1)",
      [] { backward(Miscounts::apply(leaf({1}), int64_t{3})); });
  expect_error("returned a gradient different than None at position 2",
               [] { backward(GradientOfANumber::apply(leaf({1}), int64_t{3})); });
}

TEST(DelayedError, RaisesOnlyWhenGoneThrough) {
  const std::vector<Tensor> out = delay_error("not twice", {tensor({4})});
  EXPECT_EQ(values(out[0]), (Floats{4}));
  expect_error("not twice", [&] { backward(out[0]); });
}

}  // namespace
}  // namespace taeda::autograd
