// Graphs: exact users under edits, safe walks, names, lint, passes, copies, hashes.
#include "taeda/fx/graph.h"

#include <gtest/gtest.h>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/passes/common_subexpressions.h"
#include "taeda/fx/passes/dead_code.h"
#include "taeda/fx/passes/topology.h"
#include "taeda/fx/text.h"

namespace taeda::fx {
namespace {

dispatch::Operator& op(const char* name) { return dispatch::get_operator(name); }

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

struct Chain {
  Graph g;
  Node& x = g.placeholder("x");
  Node& a = g.call(op("relu"), {x});
  Node& b = g.call(op("add.Tensor"), {a, x});
  Node& out = g.output(Arg::tuple({b, a}));
};

TEST(Graph, KeepsInputsAndUsersExact) {
  Chain c;
  EXPECT_EQ(c.x.users().list(), (std::vector<Node*>{&c.a, &c.b}));
  EXPECT_EQ(c.a.users().list(), (std::vector<Node*>{&c.b, &c.out}));
  c.b.set_arg(1, Arg(c.a));
  EXPECT_EQ(c.x.users().list(), std::vector<Node*>{&c.a});
  EXPECT_EQ(c.b.inputs().list(), std::vector<Node*>{&c.a});
  lint(c.g);
}

TEST(Graph, ReplacesUsesInNestedArguments) {
  Chain c;
  const auto changed = c.a.replace_uses(Arg(c.x), [&](Node& n) { return &n != &c.b; });
  EXPECT_EQ(changed, std::vector<Node*>{&c.out});
  EXPECT_EQ(to_text(c.out.args()[0]), "(add, x)");
  EXPECT_EQ(c.a.users().list(), std::vector<Node*>{&c.b});
  lint(c.g);
}

TEST(Graph, RefusesToEraseWhatIsUsed) {
  Chain c;
  EXPECT_EQ(
      message_of([&] { c.g.erase(c.a); }),
      "Tried to erase Node relu but it still had 2 users in the graph: {add: None, output: None}!");
  EXPECT_EQ(c.g.size(), 4u);
}

TEST(Graph, RefusesNodesOfAnotherGraph) {
  Chain c, d;
  EXPECT_NE(message_of([&] { c.g.call(op("relu"), {d.x}); }).find("belongs to another graph"),
            std::string::npos);
  EXPECT_NE(message_of([&] { c.g.erase(d.out); }).find("wrong graph"), std::string::npos);
  EXPECT_EQ(c.g.size(), 4u);
}

TEST(Graph, WalksOverNodesThatAreErasedMeanwhile) {
  Graph g;
  Node* x = &g.placeholder("x");
  for (int i = 0; i < 10; ++i) g.call(op("relu"), {*x});
  int seen = 0;
  for (Node& n : g) {
    ++seen;
    // Each step removes the node it stands on and the one after it.
    if (n.op() != OpCode::CallFunction) continue;
    Node* next = n.next();
    if (next != g.end_node()) g.erase(*next);
    g.erase(n);
  }
  EXPECT_EQ(seen, 6);
  EXPECT_EQ(g.size(), 1u);
}

TEST(Graph, FreesALongChainOfErasedNodes) {
  Graph g;
  Node& x = g.placeholder("x");
  std::vector<IntrusivePtr<Node>> kept;
  for (int i = 0; i < 200'000; ++i) g.call(op("relu"), {x});
  kept.push_back(IntrusivePtr<Node>::share(x.next()));
  while (g.size() > 1) g.erase(*x.next());
  EXPECT_TRUE(kept[0]->is_erased());
  kept.clear();
}

TEST(Graph, InsertsWhereItIsTold) {
  Chain c;
  {
    const InsertBefore here(c.g, c.b);
    c.g.call(op("neg"), {c.a});
  }
  c.g.set_insertion_point(c.out);
  c.g.call(op("sin"), {c.a});
  std::string order;
  for (const Node& n : c.g) order += n.name() + " ";
  EXPECT_EQ(order, "x relu neg add sin output ");
  EXPECT_TRUE(c.g.is_before(c.a, c.b));
  EXPECT_FALSE(c.g.is_before(c.out, c.b));
}

TEST(Graph, LintNamesAUseBeforeItsDefinition) {
  Chain c;
  c.g.move_before(c.b, c.a);
  EXPECT_NE(message_of([&] {
              lint(c.g);
            }).find("Argument 'relu' of Node 'add' was used before it has been defined"),
            std::string::npos);
  sort_topologically(c.g);
  lint(c.g);
}

TEST(Graph, SortingNamesACycle) {
  Chain c;
  c.a.set_arg(0, Arg(c.b));
  EXPECT_NE(message_of([&] { sort_topologically(c.g); }).find("the graph has a cycle: "),
            std::string::npos);
}

TEST(Graph, RefusesASecondOutput) {
  Chain c;
  EXPECT_NE(message_of([&] { c.g.output(Arg(c.x)); }).find("second output"), std::string::npos);
}

TEST(Names, AreNumberedAsPyTorchNumbersThem) {
  Names n;
  EXPECT_EQ(n.make("x"), "x");
  EXPECT_EQ(n.make("x"), "x_1");
  EXPECT_EQ(n.make("x_1"), "x_2");
  EXPECT_EQ(n.make("sum"), "sum_1");
  EXPECT_EQ(n.make("sum"), "sum_2");
  EXPECT_EQ(n.make("a.b-c"), "a_b_c");
  EXPECT_EQ(n.make("3d"), "_3d");
  EXPECT_EQ(n.make(""), "_unnamed");
  EXPECT_EQ(n.make("y_7"), "y_7");
  EXPECT_EQ(n.make("y_7"), "y_8");
  EXPECT_EQ(snake_case("BatchNorm2d"), "batch_norm2d");
}

TEST(Passes, RemoveDeadCodeButNotWrites) {
  Graph g;
  Node& x = g.placeholder("x");
  Node& dead = g.call(op("relu"), {x});
  g.call(op("neg"), {dead});
  g.call(op("add_.Tensor"), {x, x});
  g.output(Arg(x));
  EXPECT_EQ(eliminate_dead_code(g), 2u);
  EXPECT_EQ(g.size(), 3u);
}

TEST(Passes, ShareEqualCallsUnlessSomethingIsWritten) {
  Graph g;
  Node& x = g.placeholder("x");
  Node& a = g.call(op("sum.dim_IntList"), {x, Arg::list({Value(int64_t{0})})});
  Node& b = g.call(op("sum.dim_IntList"), {x, Arg::list({Value(int64_t{0})})});
  Node& c = g.call(op("sum.dim_IntList"), {x, Arg::list({Value(int64_t{1})})});
  Node& r = g.call(op("rand_like"), {x});
  Node& s = g.call(op("rand_like"), {x});
  g.output(Arg::tuple({a, b, c, r, s}));
  EXPECT_EQ(eliminate_common_subexpressions(g), 1u);
  EXPECT_EQ(to_text(g.output_node()->args()[0]), "(sum_1, sum_1, sum_3, rand_like, rand_like_1)");
  g.set_insertion_point(*g.output_node());
  g.call(op("relu_"), {x});
  Node& again = g.call(op("sum.dim_IntList"), {x, Arg::list({Value(int64_t{0})})});
  EXPECT_EQ(eliminate_common_subexpressions(g), 0u);
  EXPECT_FALSE(again.is_erased());
}

TEST(Passes, ExtractAPartWithItsInputsAndResults) {
  Chain c;
  const Subgraph part = extract_subgraph(c.g, {&c.b});
  EXPECT_EQ(to_text(*part.graph),
            "graph(relu, x) {\n  add = aten::add.Tensor(relu, x)\n  return (add,)\n}\n");
  EXPECT_EQ(part.inputs, (std::vector<Node*>{&c.a, &c.x}));
  EXPECT_TRUE(depends_on(c.b, c.x));
  EXPECT_FALSE(depends_on(c.x, c.b));
}

TEST(Graph, ClonesAndHashesByStructure) {
  Chain c;
  const auto copy = clone(c.g);
  EXPECT_EQ(to_text(*copy), to_text(c.g));
  EXPECT_TRUE(structurally_equal(*copy, c.g));
  copy->first()->rename("other");
  EXPECT_TRUE(structurally_equal(*copy, c.g));
  EXPECT_EQ(structural_hash(*copy), structural_hash(c.g));
  copy->find_by_name("add")->set_kwarg("alpha", Arg(int64_t{2}));
  EXPECT_FALSE(structurally_equal(*copy, c.g));
  EXPECT_NE(structural_hash(*copy), structural_hash(c.g));
}

TEST(Graph, SaysWhatIsNotClosed) {
  Chain c;
  EXPECT_EQ(open_reason(c.g), "");
  c.g.set_insertion_point(c.out);
  c.g.create(OpCode::CallModule, "layer", {Arg(c.x)}, {}, "layer");
  EXPECT_EQ(open_reason(c.g), "node layer: it is a call_module of layer");
  EXPECT_NE(message_of([&] { check_closed(c.g); }).find("the graph is not closed: node layer"),
            std::string::npos);
}

TEST(Graph, HandlesAHundredThousandNodes) {
  Graph g;
  Node* n = &g.placeholder("x");
  for (int i = 0; i < 100'000; ++i) n = &g.call(op("relu"), {*n});
  g.output(Arg(n));
  lint(g);
  const auto copy = clone(g);
  EXPECT_EQ(copy->size(), g.size());
  copy->output_node()->set_args({});
  EXPECT_EQ(eliminate_dead_code(*copy), 100'000u);
  EXPECT_EQ(parse_graph(to_text(g))->size(), g.size());
}

}  // namespace
}  // namespace taeda::fx
