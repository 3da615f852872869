// Compiled graphs against eager operators.
#include "tests/inductor/compiled_programs.h"

namespace taeda::inductor {
namespace {

struct ProgramCase {
  const char* name;
  const char* text;
  std::vector<IntVec> sizes, others;  // of the inputs; of a second set, for symbolic sizes
  int num_kernels;
};

const ProgramCase kPrograms[] = {
    {"Chain",
     "graph(x) {\n a = aten::add.Scalar(x, 1)\n b = aten::mul.Scalar(a, 2)\n"
     " c = aten::relu(b)\n return c\n}",
     {{6, 10}},
     {{9, 4}},
     1},
    {"Broadcast",
     "graph(x, y) {\n a = aten::mul.Tensor(x, y)\n b = aten::exp(a)\n return b\n}",
     {{6, 10}, {10}},
     {{3, 7}, {7}},
     1},
    {"SumOfRows",
     "graph(x) {\n a = aten::mul.Scalar(x, 3)\n b = aten::sum.dim_IntList(a, [1])\n"
     " return b\n}",
     {{6, 10}},
     {{4, 5000}},
     1},
    {"SumOfColumns",
     "graph(x) {\n b = aten::sum.dim_IntList(x, [0])\n return b\n}",
     {{6, 100}},
     {{5000, 3}},
     1},
    {"SumOfAll",
     "graph(x) {\n a = aten::tanh(x)\n b = aten::sum(a)\n return b\n}",
     {{6, 10}},
     {{90, 100}},
     1},
    {"MeanAndRest",
     "graph(x) {\n m = aten::mean.dim(x, [1], True)\n d = aten::sub.Tensor(x, m)\n"
     " s = aten::mul.Tensor(d, d)\n v = aten::mean.dim(s, [1])\n return (d, v)\n}",
     {{6, 10}},
     {{9, 33}},
     1},
    {"Softmax",
     "graph(x) {\n y = aten::_softmax(x, 1, False)\n return y\n}",
     {{6, 10}},
     {{3, 4100}},
     1},
    {"LogSoftmaxOfColumns",
     "graph(x) {\n y = aten::_log_softmax(x, 0, False)\n return y\n}",
     {{6, 10}},
     {{41, 3}},
     1},
    {"Reshape",
     "graph(x) {\n v = aten::view(x, [2, 3, 10])\n p = aten::permute(v, [1, 0, 2])\n"
     " y = aten::neg(p)\n return y\n}",
     {{6, 10}},
     {},
     1},
    {"Parts",
     "graph(x) {\n a = aten::select.int(x, 0, -1)\n"
     " b = aten::slice.Tensor(x, 1, 1, 9, 2)\n c = aten::sin(b)\n d = aten::cos(a)\n"
     " return (c, d)\n}",
     {{6, 10}},
     {},
     2},
    {"ProductAndBias",
     "graph(x, w, b) {\n a = aten::addmm(b, x, w)\n c = aten::gelu(a)\n"
     " d = aten::mm(c, c)\n return d\n}",
     {{8, 10}, {10, 8}, {8}},
     {},
     1},
    {"Largest", "graph(x) {\n m = aten::max.dim(x, 1)\n return m\n}", {{6, 10}}, {{4, 500}}, 1},
};

class Programs : public testing::TestWithParam<ProgramCase> {};

std::vector<Tensor> inputs_of(const std::vector<IntVec>& sizes, DType dtype) {
  std::vector<Tensor> inputs;
  for (const IntVec& s : sizes) inputs.push_back(wave(s, dtype));
  return inputs;
}

TEST_P(Programs, WithConstantSizes) {
  for (const DType dtype : {DType::Float, DType::Double, DType::BFloat16})
    expect_like_eager(GetParam().text, {inputs_of(GetParam().sizes, dtype)}, false,
                      GetParam().num_kernels);
}

TEST_P(Programs, WithSymbolicSizes) {
  if (GetParam().others.empty()) GTEST_SKIP() << "the program names its sizes";
  expect_like_eager(
      GetParam().text,
      {inputs_of(GetParam().sizes, DType::Float), inputs_of(GetParam().others, DType::Float)}, true,
      GetParam().num_kernels);
}

INSTANTIATE_TEST_SUITE_P(Compiled, Programs, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Compiled, InputsInAnotherLayoutAreCopied) {
  const auto graph = fx::parse_graph("graph(x) {\n y = aten::exp(x)\n return y\n}");
  const CompiledProgram compiled = compile_program(*graph, {wave({4, 6})}, false);
  const Tensor turned = wave({6, 4}).transpose(0, 1);
  const Tensor y = (*compiled.function)({Value(turned)}).at(0).get<Tensor>();
  EXPECT_TRUE(taeda::equal(y, taeda::exp(turned)));
}

TEST(Compiled, OtherInputsAreRefused) {
  const auto graph = fx::parse_graph("graph(x) {\n y = aten::exp(x)\n return y\n}");
  const CompiledProgram compiled = compile_program(*graph, {wave({4, 6})}, false);
  EXPECT_THROW((*compiled.function)({Value(wave({4, 7}))}), Error);
  EXPECT_THROW((*compiled.function)({Value(wave({4, 6}, DType::Double))}), Error);
  EXPECT_THROW((*compiled.function)({Value(wave({24}))}), Error);
  EXPECT_THROW((*compiled.function)({Value(int64_t{3})}), Error);
  EXPECT_THROW((*compiled.function)({}), Error);
}

TEST(Compiled, AChainThatReusesEveryValueStaysSmall) {
  std::string text = "graph(x) {\n";
  std::string last = "x";
  for (int i = 0; i < 200; ++i) {
    text += str(" a", i, " = aten::mul.Tensor(", last, ", ", last, ")\n b", i,
                " = aten::add.Tensor(a", i, ", ", last, ")\n c", i, " = aten::sin(b", i, ")\n");
    last = str("c", i);
  }
  text += str(" return ", last, "\n}");
  expect_like_eager(text, {{wave({5, 7})}}, false, 1);
}

TEST(Compiled, ReductionsOfReductionsStaySmall) {
  std::string text = "graph(x) {\n";
  std::string last = "x";
  for (int i = 0; i < 12; ++i) {
    text += str(" a", i, " = aten::_softmax(", last, ", 1, False)\n");
    last = str("a", i);
  }
  text += str(" return ", last, "\n}");
  expect_like_eager(text, {{wave({5, 7})}}, false, 1);
}

TEST(Compiled, ResultsThatAreInputsAndConstants) {
  const auto graph = fx::parse_graph("graph(x) {\n y = aten::neg(x)\n return (x, y, 3, None)\n}");
  const CompiledProgram compiled = compile_program(*graph, {wave({4})}, false);
  const Tensor x = wave({4});
  const std::vector<Value> results = (*compiled.function)({Value(x)});
  EXPECT_EQ(results.at(0).get<Tensor>().data(), x.data());
  EXPECT_EQ(results.at(2).to_int(), 3);
  EXPECT_TRUE(results.at(3).is_none());
}

TEST(ArenaLayout, ReusesMemoryOfTheDead) {
  const ArenaLayout layout = lay_out({{0, 1, 640}, {1, 2, 128}, {2, 3, 512}, {3, 4, 64}});
  EXPECT_EQ(layout.offsets[0], 0);
  EXPECT_EQ(layout.offsets[2], 0);
  EXPECT_EQ(layout.offsets[1], 640);
  EXPECT_EQ(layout.bytes, 768);
}

// The least that any layout takes: the most bytes that live at once.
int64_t most_alive(const std::vector<Lifetime>& lifetimes) {
  int64_t most = 0;
  for (const Lifetime& now : lifetimes) {
    int64_t alive = 0;
    for (const Lifetime& other : lifetimes)
      if (other.first <= now.first && now.first <= other.last) alive += other.bytes;
    most = std::max(most, alive);
  }
  return most;
}

TEST(ArenaLayout, StretchesOfOneTimeAreApart) {
  for (const int count : {40, 2000}) {
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < count; ++i) {
      const int first = i * 7 % count;
      lifetimes.push_back({first, first + i % 11, (i * 2654435761u % 50 + 1) * 64});
    }
    const ArenaLayout layout = lay_out(lifetimes);
    for (int a = 0; a < count; ++a) {
      EXPECT_LE(layout.offsets[a] + lifetimes[a].bytes, layout.bytes);
      for (int b = 0; b < a; ++b) {
        const bool meets =
            lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
        const bool is_apart = layout.offsets[a] + lifetimes[a].bytes <= layout.offsets[b] ||
                              layout.offsets[b] + lifetimes[b].bytes <= layout.offsets[a];
        ASSERT_TRUE(!meets || is_apart) << a << " and " << b;
      }
    }
    EXPECT_LE(layout.bytes, 2 * most_alive(lifetimes));
  }
}

}  // namespace
}  // namespace taeda::inductor
