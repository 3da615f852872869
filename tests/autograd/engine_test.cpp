// The backward engine: order, accumulation, restriction to inputs, freeing and errors.
#include "taeda/autograd/engine.h"

#include <gtest/gtest.h>

#include <thread>

#include "taeda/autograd/accumulate_grad.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "tests/autograd/values.h"

namespace taeda::autograd {
namespace {

TEST(Backward, ProductRule) {
  const Tensor a = leaf({1, 2, 3}), b = leaf({4, 5, 6});
  backward(mul(a, b).sum());
  EXPECT_EQ(values(grad(a)), (Floats{4, 5, 6}));
  EXPECT_EQ(values(grad(b)), (Floats{1, 2, 3}));
}

TEST(Backward, AddsToTheGradientThatIsThere) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  backward(mul(a, b).sum());
  backward(mul(a, b).sum());
  EXPECT_EQ(values(grad(a)), (Floats{6, 8}));
}

TEST(Backward, SumsOverUsesOfOneTensor) {
  const Tensor a = leaf({1, 2});
  const Tensor y = mul(a, a);
  backward(add(mul(y, y), y).sum());  // a^4 + a^2
  EXPECT_EQ(values(grad(a)), (Floats{4 + 2, 32 + 4}));
}

TEST(Backward, GivenGradientWeightsTheRoot) {
  const Tensor a = leaf({1, 2});
  run_backward({mul(a, a)}, {tensor({10, 100})}, false, false);
  EXPECT_EQ(values(grad(a)), (Floats{20, 400}));
}

TEST(Backward, RootThatIsAnotherRootsAncestorRunsOnce) {
  const Tensor a = leaf({3});
  const Tensor y = mul(a, a), z = mul(y, y);
  run_backward({y.sum(), z.sum()}, {}, false, false);
  EXPECT_EQ(values(grad(a)), (Floats{6 + 4 * 27}));
}

TEST(Backward, BroadcastGradientIsSummed) {
  const Tensor a = leaf({2}), b = tensor({1, 2, 3});
  backward(mul(a, b).sum());
  EXPECT_EQ(values(grad(a)), (Floats{6}));
  EXPECT_EQ(grad(a).sizes().vec(), (std::vector<int64_t>{1}));
}

TEST(Backward, LongChainNeitherOverflowsTheStackForwardNorWhenFreed) {
  const Tensor a = leaf({1});
  const Tensor one = tensor({1});
  Tensor y = a;
  for (int i = 0; i < 100000; ++i) y = mul(y, one);
  backward(y.sum());
  EXPECT_EQ(values(grad(a)), (Floats{1}));
}

TEST(Backward, ThreadsShareLeavesAndKeptGraphs) {
  const Tensor a = leaf({2, 3});
  const Tensor loss = mul(a, a).sum();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) run_backward({loss}, {}, /*keep_graph=*/true, false);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(values(grad(a)), (Floats{800, 1200}));
}

TEST(Backward, RunsNestedInsideAHook) {
  const Tensor a = leaf({2}), b = leaf({5});
  const Tensor y = mul(a, a);
  register_hook(y, [&](const Tensor&) {
    const EnableGrad recording;
    backward(mul(b, b).sum());
    return Tensor();
  });
  backward(y.sum());
  EXPECT_EQ(values(grad(a)), (Floats{4}));
  EXPECT_EQ(values(grad(b)), (Floats{10}));
}

TEST(Grad, SecondDerivative) {
  const Tensor a = leaf({2, 3});
  const Tensor y = mul(mul(a, a), a).sum();
  const Tensor first = run_backward({y}, {}, true, true, {a}, false, false)[0];
  EXPECT_EQ(values(first), (Floats{12, 27}));
  const Tensor second = run_backward({first.sum()}, {}, false, false, {a}, false, false)[0];
  EXPECT_EQ(values(second), (Floats{12, 18}));
}

TEST(Grad, SecondDerivativeThroughASavedOutput) {
  const Tensor a = leaf({0});
  const Tensor first = run_backward({a.exp().sum()}, {}, true, true, {a}, false, false)[0];
  EXPECT_EQ(values(run_backward({first.sum()}, {}, false, false, {a}, false, false)[0]),
            (Floats{1}));
}

TEST(Grad, LeavesOtherLeavesAlone) {
  const Tensor a = leaf({1}), b = leaf({2});
  const Tensor g = run_backward({mul(a, b).sum()}, {}, false, false, {a}, false, false)[0];
  EXPECT_EQ(values(g), (Floats{2}));
  EXPECT_FALSE(grad(a).defined());
  EXPECT_FALSE(grad(b).defined());
}

TEST(Grad, OfAnInnerTensorStopsThere) {
  const Tensor a = leaf({3});
  const Tensor y = mul(a, a);
  const auto g = run_backward({mul(y, y).sum()}, {}, false, false, {y, a}, false, false);
  EXPECT_EQ(values(g[0]), (Floats{18}));
  EXPECT_EQ(values(g[1]), (Floats{108}));
}

TEST(Grad, UnusedInput) {
  const Tensor a = leaf({1}), b = leaf({2});
  const Tensor y = mul(a, a).sum();
  EXPECT_FALSE(run_backward({y}, {}, true, false, {b}, true, false)[0].defined());
  expect_error("appears to not have been used in the graph. Set allow_unused=True",
               [&] { run_backward({y}, {}, true, false, {b}, false, false); });
}

TEST(Backward, InputsRestrictAccumulation) {
  const Tensor a = leaf({1}), b = leaf({2});
  run_backward({mul(a, b).sum()}, {}, false, false, {b});
  EXPECT_FALSE(grad(a).defined());
  EXPECT_EQ(values(grad(b)), (Floats{1}));
}

TEST(Backward, SecondRunNeedsTheGraphKept) {
  const Tensor a = leaf({2});
  const Tensor y = mul(a, a).sum();
  run_backward({y}, {}, /*keep_graph=*/true, false);
  backward(y);
  EXPECT_EQ(values(grad(a)), (Floats{8}));
  expect_error("Trying to backward through the graph a second time", [&] { backward(y); });
}

TEST(Backward, FailingHookLeavesTheGraphUsable) {
  const Tensor a = leaf({2});
  const Tensor y = mul(a, a);
  const Tensor loss = y.sum();
  const uint64_t id =
      register_hook(y, [](const Tensor&) -> Tensor { fail(ErrorKind::Value, "no"); });
  expect_error("no", [&] { run_backward({loss}, {}, true, false); });
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE(remove_hook(y, id));
  backward(loss);
  EXPECT_EQ(values(grad(a)), (Floats{4}));
}

TEST(Backward, WrongArguments) {
  const Tensor a = leaf({1, 2}), plain = tensor({1});
  expect_error("grad can be implicitly created only for scalar outputs",
               [&] { backward(mul(a, a)); });
  expect_error("element 0 of tensors does not require grad and does not have a grad_fn",
               [&] { backward(plain); });
  expect_error(
      "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape "
      "of torch.Size([2]).",
      [&] { run_backward({mul(a, a)}, {tensor({1, 2, 3})}, false, false); });
  expect_error("One of the differentiated Tensors does not require grad",
               [&] { run_backward({mul(a, a).sum()}, {}, false, false, {plain}, false, false); });
}

// A node whose gradient is whatever the test says.
struct Answer final : Node {
  Tensor answer;
  const char* name() const override { return "AnswerBackward"; }
  void apply(Span<Tensor>, std::vector<Tensor>& grad_inputs) override { grad_inputs[0] = answer; }
};

Tensor answering(const Tensor& input, Tensor answer) {
  auto node = make_intrusive<Answer>();
  node->answer = std::move(answer);
  node->set_next_edges(collect_edges(input));
  Tensor out = tensor({1});
  set_history(out, node);
  return out;
}

TEST(Backward, TellsTheOrderOfWhatIsLeft) {
  const Tensor a = leaf({1}), b = leaf({2});
  const Tensor y = mul(a.sin(), b.cos());
  std::vector<std::string> names;
  register_hook(y, [&](const Tensor&) {
    for (const IntrusivePtr<Node>& node : remaining_order()) names.push_back(node->name());
    return Tensor();
  });
  run_backward({y}, {}, false, false, {a}, false, false);
  EXPECT_EQ(names, (std::vector<std::string>{"MulBackward0", "SinBackward0",
                                             "torch::autograd::AccumulateGrad"}));
  EXPECT_THROW(remaining_order(), Error);
}

TEST(Validation, ALeafSaysTheDtypeOfItsGradient) {
  const Tensor a = leaf({1}), b = leaf({2});
  const Tensor early = mul(a, a);  // its accumulator is there before the dtype
  set_grad_dtype(a, DType::Double);
  set_grad_dtype(b, std::nullopt);
  backward(mul(a, b));
  EXPECT_EQ(grad(a).dtype(), DType::Double);
  EXPECT_EQ(grad(b).dtype(), DType::Float);
  EXPECT_THROW(set_grad_dtype(a, DType::Half), Error);
  EXPECT_THROW(set_grad_dtype(early, DType::Half), Error);
}

TEST(Validation, ShapeMustReduceToTheInputs) {
  const Tensor a = leaf({1, 2});
  expect_error(
      "Function AnswerBackward returned an invalid gradient at index 0 - got [3] but expected "
      "shape compatible with [2]",
      [&] { backward(answering(a, tensor({1, 2, 3}))); });
}

TEST(Validation, DtypeIsConverted) {
  const Tensor a = leaf({1, 2});
  backward(answering(a, tensor({3, 4}).to(DType::Double)));
  EXPECT_EQ(grad(a).dtype(), DType::Float);
  EXPECT_EQ(values(grad(a)), (Floats{3, 4}));
}

TEST(AccumulateGrad, CopiesAGradientSomebodyElseSees) {
  const Tensor a = leaf({1, 2}), seen = tensor({3, 4});
  backward(answering(a, seen));
  EXPECT_NE(grad(a).data(), seen.data());
  EXPECT_EQ(values(grad(a)), (Floats{3, 4}));
}

TEST(AccumulateGrad, TakesOverAGradientOfItsOwn) {
  const Tensor a = leaf({1, 2});
  void* arrived = nullptr;
  register_hook(a, [&](const Tensor& g) {
    arrived = g.data();
    return Tensor();
  });
  backward(mul(a, tensor({3, 4})).sum());
  EXPECT_EQ(grad(a).data(), arrived);
}

TEST(AccumulateGrad, LivesAsLongAsTheGraph) {
  const Tensor a = leaf({1});
  {
    const Tensor y = mul(a, a);
    EXPECT_TRUE(try_grad_accumulator(a));
  }
  EXPECT_FALSE(try_grad_accumulator(a));
}

TEST(Hooks, ReplaceTheGradient) {
  const Tensor a = leaf({1}), two = tensor({2});
  register_hook(a, [&](const Tensor& g) { return mul(g, two); });
  backward(mul(a, tensor({5})).sum());
  EXPECT_EQ(values(grad(a)), (Floats{10}));
}

TEST(Hooks, OfALeafOutliveTheGraph) {
  const Tensor a = leaf({1});
  int calls = 0;
  register_hook(a, [&](const Tensor&) {
    ++calls;
    return Tensor();
  });
  backward(mul(a, a).sum());
  backward(mul(a, a).sum());
  EXPECT_EQ(calls, 2);
}

TEST(Hooks, PostAccumulateSeesTheSum) {
  const Tensor a = leaf({1});
  Floats seen;
  register_post_accumulate_hook(a, [&](const Tensor& t) { seen = values(grad(t)); });
  backward(mul(a, a).sum());
  EXPECT_EQ(seen, (Floats{2}));
}

TEST(Hooks, RetainGradKeepsAnInnerGradient) {
  const Tensor a = leaf({3});
  const Tensor y = mul(a, a);
  retain_grad(y);
  backward(mul(y, y).sum());
  EXPECT_EQ(values(grad(y)), (Floats{18}));
}

TEST(SumTo, ReducesLeadingAndUnitDimensions) {
  const Tensor g = tensor({1, 2, 3, 4, 5, 6}).view({SymInt(2), SymInt(3)});
  EXPECT_EQ(values(gradients::sum_to(g, IntList{3})), (Floats{5, 7, 9}));
  EXPECT_EQ(values(gradients::sum_to(g, IntList{2, 1})), (Floats{6, 15}));
  EXPECT_EQ(values(gradients::sum_to(g, IntList{})), (Floats{21}));
}

}  // namespace
}  // namespace taeda::autograd
