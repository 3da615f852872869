// Joint graphs that are cut, and compiled programs with gradients.
#include "taeda/aot/min_cut.h"
#include "tests/inductor/compiled_programs.h"

namespace taeda::aot {
namespace {

using inductor::compile_program;
using inductor::CompiledProgram;
using inductor::wave;

Tensor leaf(IntList sizes) {
  Tensor t = wave(sizes);
  autograd::set_requires_grad(t, true);
  return t;
}

TEST(MinCut, CutsTheCheapestEdges) {
  MinCut cut(4);
  cut.add_edge(0, 1, MinCut::kUncut);
  cut.add_edge(1, 2, 5);
  cut.add_edge(2, 3, 7);
  cut.add_edge(1, 3, 1);
  EXPECT_EQ(cut.run(0, 3), (std::vector<bool>{true, true, false, false}));
  EXPECT_TRUE(cut.is_cut());
}

TEST(MinCut, SaysWhereNoCutIsPossible) {
  MinCut cut(3);
  cut.add_edge(0, 1, MinCut::kUncut);
  cut.add_edge(1, 2, MinCut::kUncut);
  cut.add_edge(0, 2, 3);
  cut.run(0, 2);
  EXPECT_FALSE(cut.is_cut());
}

constexpr const char* kMlp =
    "graph(x, w1, b1, w2) {\n h = aten::addmm(b1, x, w1)\n a = aten::gelu(h)\n"
    " y = aten::mm(a, w2)\n s = aten::mul.Tensor(y, y)\n loss = aten::mean(s)\n return loss\n}";

// Gradients of the first result's sum with respect to every input.
std::vector<Tensor> gradients(const Tensor& loss, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> wanted;
  for (const Tensor& t : inputs)
    if (autograd::requires_grad(t)) wanted.push_back(t);
  return autograd::grad({loss.sum()}, wanted);
}

void expect_training_like_eager(const std::string& text,
                                const std::vector<std::vector<Tensor>>& inputs, bool is_symbolic) {
  const auto graph = fx::parse_graph(text);
  const CompiledProgram compiled = compile_program(*graph, inputs.at(0), is_symbolic);
  ASSERT_EQ(compiled.plans.size(), 2u);
  for (const bool is_native : {false, true}) {
    if (is_native)
      for (const auto& plan : compiled.plans) plan->compile_native();
    for (const std::vector<Tensor>& given : inputs) {
      const std::vector<Value> values(given.begin(), given.end());
      const Tensor expected = fx::flatten_tensors(fx::Plan(*graph).run(values)).at(0);
      const Tensor loss = (*compiled.function)(values).at(0).get<Tensor>();
      EXPECT_TRUE(taeda::equal(loss, expected));
      const std::vector<Tensor> want = gradients(expected, given), have = gradients(loss, given);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(taeda::equal(have[i], want[i])) << "gradient " << i << ", " << is_native;
    }
  }
}

TEST(CompiledTraining, MlpWithConstantSizes) {
  expect_training_like_eager(kMlp, {{wave({6, 10}), leaf({10, 8}), leaf({8}), leaf({8, 3})}},
                             false);
}

TEST(CompiledTraining, MlpWithASymbolicBatch) {
  const Tensor w1 = leaf({10, 8}), b1 = leaf({8}), w2 = leaf({8, 3});
  expect_training_like_eager(kMlp, {{wave({6, 10}), w1, b1, w2}, {wave({11, 10}), w1, b1, w2}},
                             true);
}

TEST(CompiledTraining, SoftmaxAttention) {
  expect_training_like_eager(
      "graph(q, k, v) {\n t = aten::permute(k, [0, 2, 1])\n s = aten::bmm(q, t)\n"
      " d = aten::div.Scalar(s, 2.5)\n p = aten::_softmax(d, -1, False)\n"
      " y = aten::bmm(p, v)\n return y\n}",
      {{leaf({2, 6, 4}), leaf({2, 6, 4}), leaf({2, 6, 4})}}, false);
}

TEST(Partition, ComputesCheapValuesAgain) {
  const auto graph = fx::parse_graph(kMlp);
  const CompiledProgram compiled =
      compile_program(*graph, {wave({6, 10}), leaf({10, 8}), leaf({8}), leaf({8, 3})}, false);
  const std::string& report = compiled.function->parts()->report;
  EXPECT_NE(report.find("computed again gelu"), std::string::npos) << report;
  EXPECT_NE(report.find("saved addmm: 192 bytes, not computed twice"), std::string::npos) << report;
}

TEST(CompiledTraining, InferenceHasNoBackward) {
  const auto graph = fx::parse_graph(kMlp);
  const autograd::NoGrad off;
  const CompiledProgram compiled =
      compile_program(*graph, {wave({6, 10}), leaf({10, 8}), leaf({8}), leaf({8, 3})}, false);
  EXPECT_EQ(compiled.plans.size(), 1u);
  EXPECT_FALSE(compiled.function->parts());
}

}  // namespace
}  // namespace taeda::aot
