// Calls that set modes as scopes with regions.
#include "taeda/fx/passes/mode_scopes.h"

#include <gtest/gtest.h>

#include "taeda/fx/text.h"

namespace taeda::fx {
namespace {

std::string wrapped(const char* text, bool is_grad_enabled = true) {
  const auto graph = parse_graph(text);
  wrap_mode_scopes(*graph, is_grad_enabled);
  lint(*graph);
  return to_text(*graph);
}

TEST(ModeScopes, CallsThatSetModesAreOpen) {
  const auto graph = parse_graph(R"(graph(x) {
    m = builtin::_set_grad_enabled(False)
    return x
  })");
  EXPECT_NE(open_reason(*graph).find("m: it sets a mode of the thread"), std::string::npos);
  wrap_mode_scopes(*graph);
  EXPECT_EQ(open_reason(*graph), "");
}

TEST(ModeScopes, NodesUnderAModeAreARegion) {
  EXPECT_EQ(wrapped(R"(graph(x) {
    m = builtin::_set_grad_enabled(False)
    a = aten::mm(x, x)
    c = aten::sin(a)
    n = builtin::_set_grad_enabled(True)
    b = aten::relu(c)
    return b
  })"),
            R"(graph(x) {
  wrap_with_set_grad_enabled = builtin::wrap_with_set_grad_enabled(False, graph(x) {
    a = aten::mm(x, x)
    c = aten::sin(a)
    return (c,)
  }, x)
  getitem = builtin::getitem(wrap_with_set_grad_enabled, 0)
  b = aten::relu(getitem)
  return b
}
)");
}

TEST(ModeScopes, TheModeOfTheProgramNeedsNoScope) {
  const std::string text = wrapped(R"(graph(x) {
    m = builtin::_set_grad_enabled(False)
    a = aten::mm(x, x)
    n = builtin::_set_grad_enabled(True)
    b = aten::relu(a)
    return b
  })",
                                   false);
  EXPECT_NE(text.find("a = aten::mm(x, x)\n  wrap_with_set_grad_enabled = "), std::string::npos)
      << text;
}

TEST(ModeScopes, AutocastLiesAroundTheGradMode) {
  const std::string text = wrapped(R"(graph(x) {
    c = builtin::_enter_autocast("cpu", dtype.bf16, True, True)
    m = builtin::_set_grad_enabled(False)
    a = aten::mm(x, x)
    n = builtin::_set_grad_enabled(True)
    e = builtin::_exit_autocast(c)
    b = aten::relu(a)
    return b
  })");
  const size_t cast = text.find("wrap_with_autocast(\"cpu\", dtype.bf16, True, True, graph(x)");
  EXPECT_NE(cast, std::string::npos) << text;
  EXPECT_GT(text.find("wrap_with_set_grad_enabled(False, graph(x)"), cast) << text;
}

TEST(ModeScopes, AttributesAreReadOutside) {
  EXPECT_EQ(wrapped(R"(graph(x) {
    m = builtin::_set_grad_enabled(False)
    a = aten::sin(x)
    w = attr("weight")
    b = aten::mul.Tensor(a, w)
    n = builtin::_set_grad_enabled(True)
    return b
  })"),
            R"(graph(x) {
  w = attr("weight")
  wrap_with_set_grad_enabled = builtin::wrap_with_set_grad_enabled(False, graph(x, w) {
    a = aten::sin(x)
    b = aten::mul.Tensor(a, w)
    return (b,)
  }, x, w)
  getitem = builtin::getitem(wrap_with_set_grad_enabled, 0)
  return getitem
}
)");
}

TEST(ModeScopes, MarksStayOutside) {
  const auto graph = parse_graph(R"(graph(x) {
    m = builtin::_set_grad_enabled(False)
    a = aten::sin(x)
    k = builtin::eq(a, 1)
    b = aten::cos(a)
    n = builtin::_set_grad_enabled(True)
    return b
  })");
  const auto scopes = wrap_mode_scopes(*graph, true, [](const Node& n) { return n.name() == "k"; });
  lint(*graph);
  ASSERT_EQ(scopes.size(), 1u);
  EXPECT_EQ(scopes[0].number, 0u);
  const Node* mark = graph->find_by_name("k");
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->args().at(0).node()->args().at(0).node(), scopes[0].call) << to_text(*graph);
}

TEST(ModeScopes, NumbersCountStretches) {
  const auto graph = parse_graph(R"(graph(x) {
    a = aten::sin(x)
    m = builtin::_set_grad_enabled(False)
    b = aten::cos(a)
    n = builtin::_set_grad_enabled(True)
    c = aten::sin(b)
    o = builtin::_set_grad_enabled(False)
    d = aten::cos(c)
    p = builtin::_set_grad_enabled(True)
    return d
  })");
  const auto scopes = wrap_mode_scopes(*graph);
  ASSERT_EQ(scopes.size(), 2u);
  EXPECT_EQ(scopes[0].number, 1u);
  EXPECT_EQ(scopes[1].number, 3u);
}

}  // namespace
}  // namespace taeda::fx
