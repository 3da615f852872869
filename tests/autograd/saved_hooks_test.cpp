// Hooks on what nodes save, anomaly mode, and what a running node may ask the engine.
#include "taeda/autograd/saved_hooks.h"

#include "taeda/autograd/anomaly.h"
#include "taeda/autograd/saved.h"
#include "taeda/ops/functions.h"
#include "tests/autograd/values.h"

namespace taeda::autograd {
namespace {

// Keeps a copy and counts.
struct Counting final : SavedTensorHooks {
  struct Copy final : PackedTensor {
    Copy(Tensor copy, IntrusivePtr<Counting> hooks)
        : copy(std::move(copy)), hooks(std::move(hooks)) {}
    Tensor unpack() override {
      ++hooks->unpacked;
      return copy;
    }
    Tensor copy;
    IntrusivePtr<Counting> hooks;
  };
  IntrusivePtr<PackedTensor> pack(const Tensor& tensor) override {
    EXPECT_TRUE(requires_grad(tensor));
    EXPECT_FALSE(grad_enabled());
    ++packed;
    return make_intrusive<Copy>(tensor.clone(), IntrusivePtr<Counting>::share(this));
  }
  int packed = 0, unpacked = 0;
};

struct Pushed {
  explicit Pushed(IntrusivePtr<SavedTensorHooks> hooks) {
    push_saved_tensor_hooks(std::move(hooks));
  }
  ~Pushed() { pop_saved_tensor_hooks(); }
};

TEST(SavedTensorHooks, PackAndUnpackEachTensor) {
  const auto hooks = make_intrusive<Counting>();
  const Tensor a = leaf({2}), b = leaf({3});
  Tensor y;
  {
    const Pushed pushed(hooks);
    y = mul(a, b);
  }
  EXPECT_EQ(hooks->packed, 2);
  mul(a, b);
  EXPECT_EQ(hooks->packed, 2);
  backward(y);
  EXPECT_EQ(hooks->unpacked, 2);
  EXPECT_EQ(values(grad(a)), (Floats{3}));
}

TEST(SavedTensorHooks, SecondDerivativeReachesTheOriginals) {
  const Tensor a = leaf({2});
  Tensor y;
  {
    const Pushed pushed(make_intrusive<Counting>());
    const Tensor inner = mul(a, a);
    y = mul(inner, inner);
  }
  const Tensor first = run_backward({y}, {}, true, true, {a}, false, false)[0];
  EXPECT_EQ(values(first), (Floats{4 * 8}));
  const Tensor second = run_backward({first}, {}, false, false, {a}, false, false)[0];
  EXPECT_EQ(values(second), (Floats{12 * 4}));
}

TEST(SavedTensorHooks, PackedOutputsGetTheirHistoryBack) {
  const Tensor a = leaf({0});
  Tensor y;
  {
    const Pushed pushed(make_intrusive<Counting>());
    y = exp(a);
  }
  const Tensor first = run_backward({y}, {}, true, true, {a}, false, false)[0];
  EXPECT_EQ(values(run_backward({first}, {}, false, false, {a}, false, false)[0]), (Floats{1}));
}

TEST(SavedTensorHooks, ARunLeavesThePairsAsTheyWere) {
  const auto outer = make_intrusive<Counting>();
  const Tensor a = leaf({2});
  const Pushed pushed(outer);
  for (const bool pushes : {true, false}) {
    const Tensor y = mul(a, a);
    register_hook(y, [pushes](const Tensor&) {
      if (pushes)
        push_saved_tensor_hooks(make_intrusive<Counting>());
      else
        pop_saved_tensor_hooks();
      return Tensor();
    });
    backward(y);
    EXPECT_EQ(innermost_saved_tensor_hooks().get(), outer.get());
  }
}

TEST(Saved, AnInputThatLostItsHistoryIsRefused) {
  const Tensor a = mul(leaf({2}), leaf({3}));
  const Tensor y = mul(a, a);
  detach_inplace(a);
  EXPECT_THROW(backward(y), Error);
}

TEST(SavedTensorHooks, CanBeForbidden) {
  disable_saved_tensor_hooks("not here");
  expect_error("not here", [] { push_saved_tensor_hooks(make_intrusive<Counting>()); });
  enable_saved_tensor_hooks();
  const Pushed pushed(make_intrusive<Counting>());
  expect_error("not here", [] { disable_saved_tensor_hooks("not here"); });
}

struct Writing final : SavedTensorHooks {
  IntrusivePtr<PackedTensor> pack(const Tensor& tensor) override {
    Tensor written = tensor;
    written.add_(autograd::tensor({1}));
    return nullptr;
  }
};

TEST(SavedTensorHooks, MustNotWriteToWhatTheyPack) {
  const Tensor a = mul(leaf({1}), Scalar(2));
  const Pushed pushed(make_intrusive<Writing>());
  expect_error("A saved tensor pack hook is modifying its input in place", [&] { mul(a, a); });
}

// What a node shows of itself.
struct Names final : SavedVisitor {
  std::vector<std::string> seen;
  void tensor(const char* name, SavedTensor&) override { seen.emplace_back(name); }
  void tensors(const char* name, std::vector<SavedTensor>&) override { seen.emplace_back(name); }
  void value(const char* name, dispatch::Value) override { seen.emplace_back(name); }
};

TEST(Saved, IsShownByName) {
  Names names;
  grad_fn(mul(leaf({1}), leaf({2})))->visit_saved(names);
  EXPECT_EQ(names.seen, (std::vector<std::string>{"self", "other"}));
}

TEST(Saved, OnlyWhatAWantedGradientReads) {
  const Tensor a = leaf({3});
  Tensor x = mul(a, Scalar(1));
  const Tensor w = tensor({2});
  const Tensor y = mul(x, w);
  x.add_(w);  // y's node has no use for x
  backward(y);
  EXPECT_EQ(values(grad(a)), (Floats{2}));
}

struct Anomaly {
  Anomaly() { set_anomaly_enabled(true); }
  ~Anomaly() { set_anomaly_enabled(false); }
};

TEST(Anomaly, NamesTheNodeThatMadeNan) {
  const Anomaly mode;
  const Tensor y = mul(sqrt(leaf({0})), tensor({0}));
  expect_error("Function 'SqrtBackward0' returned nan values in its 0th output.",
               [&] { backward(y); });
}

TEST(Engine, CallsBackWhenItIsThrough) {
  expect_error("Final callbacks can only be installed during backward pass.",
               [] { queue_callback([] {}); });
  const Tensor a = leaf({1}), b = leaf({1});
  bool called = false;
  register_hook(a, [&](const Tensor&) {
    EXPECT_NE(current_node(), nullptr);
    queue_callback([&] { called = grad(a).defined() && grad(b).defined(); });
    return Tensor();
  });
  backward(mul(a, b));
  EXPECT_TRUE(called);
  EXPECT_EQ(current_run_id(), -1);
}

TEST(Engine, TakesEdgesForTensors) {
  const Tensor a = leaf({1, 2});
  const Tensor y = mul(a, a), z = y.sum();
  const Edge from = gradient_edge(z), to = gradient_edge(y);
  SmallVector<Root, 2> roots;
  roots.push_back(make_root(from, make_seed(from, Tensor(), 0), 0));
  RunOptions options;
  options.keep_graph = true;
  options.accumulate = false;
  EXPECT_EQ(values(run_backward(roots, {to}, options)[0]), (Floats{1, 1}));
  run_backward(roots, {}, {});
  EXPECT_EQ(values(grad(a)), (Floats{2, 4}));
}

// A node that runs backward through a graph of its own, which has such a node in it, and so on.
struct Nested final : Node {
  explicit Nested(int depth) : depth(depth) {}
  const char* name() const override { return "Nested"; }
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override {
    grad_inputs[0] = depth ? run(depth - 1) : grads[0];
  }
  static Tensor run(int depth) {
    const EnableGrad recording;
    const Tensor a = leaf({1});
    auto node = make_intrusive<Nested>(depth);
    node->set_next_edges(collect_edges(a));
    const Tensor y = tensor({1});
    set_history(y, node);
    return run_backward({y}, {}, false, false, {a}, false, false)[0];
  }
  int depth;
};

TEST(Engine, RunsNestThousandsDeep) { EXPECT_EQ(values(Nested::run(5000)), (Floats{1})); }

}  // namespace
}  // namespace taeda::autograd
