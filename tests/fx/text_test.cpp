// The text form of graphs is stable and read back.
#include "taeda/fx/text.h"

#include <gtest/gtest.h>

#include <random>

#include "taeda/dispatch/dispatcher.h"

namespace taeda::fx {
namespace {

constexpr const char* kAll = R"(graph(x: f32[2, 3], input_1: i64[4]{2}@cuda:0 as "input", n = 3) {
  add: f32[2, 3] = aten::add.Tensor(x, 1, alpha=2)
  weight = attr("layer.weight")
  split = aten::split.Tensor(add, 1)
  getitem = builtin::getitem(split, 0)
  norm: (f32[2], f32[2]) = aten::aminmax(x, dim=0)
  zeros = aten::zeros([2, 3], dtype=dtype.f64, layout=layout.strided, device=device("cuda:1"))
  clone = aten::clone(add, memory_format=memory_format.channels_last)
  text = module("sub.layer", x, slice(0, None, 2), {"k": [1.5, -0.0, inf, -inf, 1e-300]})
  view = method("view", x, (1,), complex(1.0, -2.5), "a \"q\" \\ \n", True, None)
  return (getitem, [weight, graph(y) {
    relu = aten::relu(y)
    return relu
  }], ())
}
)";

std::string error_of(std::string_view text) {
  try {
    parse_graph(text);
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

TEST(Text, ReadsBackWhatItPrints) {
  const std::string printed = to_text(*parse_graph(kAll));
  EXPECT_EQ(printed, kAll);
  EXPECT_EQ(to_text(*parse_graph(printed)), printed);
}

TEST(Text, KeepsDoublesExactly) {
  std::mt19937_64 bits(7);
  for (int i = 0; i < 2000; ++i) {
    const double v = std::bit_cast<double>(bits());
    if (!(v == v)) continue;
    const std::string line = "graph() {\n  return " + to_text(Arg(v)) + "\n}\n";
    EXPECT_EQ(parse_graph(line)->output_node()->args()[0], Arg(v)) << line;
  }
}

TEST(Text, NamesLineAndColumnOfAMistake) {
  EXPECT_EQ(error_of("graph(x) {\n  a = aten::nothing(x)\n}"),
            "cannot read the graph's text at line 2, column 21: no operator is called "
            "aten::nothing");
  EXPECT_NE(error_of("graph(x) { return y }").find("'y' is not defined before its use"),
            std::string::npos);
  EXPECT_NE(error_of("graph(x) { a = aten::relu(x) a = aten::relu(x) }").find("used twice"),
            std::string::npos);
  EXPECT_NE(error_of("graph(x) { return (x").find("expected ','"), std::string::npos);
  EXPECT_NE(error_of("graph(x: f32[-1]) {}").find("negative size"), std::string::npos);
  EXPECT_NE(error_of("graph(x: f32[s0]) {}").find("symbol s0"), std::string::npos);
  EXPECT_NE(error_of(std::string("graph(x) { return ") + std::string(100'000, '[')).find("deeply"),
            std::string::npos);
}

// Every prefix and a few thousand damaged copies: an error or a graph, never a crash.
TEST(Text, SurvivesDamage) {
  const std::string whole = kAll;
  for (size_t n = 0; n < whole.size(); ++n) error_of(std::string_view(whole).substr(0, n));
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random() % 128);
    error_of(text);
  }
}

}  // namespace
}  // namespace taeda::fx
