// Rewriting a graph: uses, order, erasing, names, copies.
#include "tilewright/graph/testing.h"

namespace tilewright {
namespace {

constexpr std::string_view kChain = "x: f32[B]\na = neg(x)\nb = exp(a)\nc = add(a, b)\nreturn c, a\n";

ValueId named(const Graph& graph, std::string_view name) {
  for (ValueId value = 0; value < graph.num_values(); ++value) {
    if (graph.value(value).name == name) return value;
  }
  ADD_FAILURE() << "no value " << name;
  return 0;
}

TEST(Graph, UsersListReadersInOrder) {
  const auto graph = parse_or_die(kChain);
  const auto users = graph->users();
  EXPECT_EQ(users[named(*graph, "x")], (std::vector<NodeId>{0}));
  EXPECT_EQ(users[named(*graph, "a")], (std::vector<NodeId>{1, 2}));
  EXPECT_TRUE(users[named(*graph, "c")].empty());
}
TEST(Graph, AUserIsListedOnce) {
  const auto graph = parse_or_die("x: f32[B]  y = mul(x, x)  return y");
  EXPECT_EQ(graph->users()[0], (std::vector<NodeId>{0}));
}
TEST(Graph, CapturesAreUses) {
  const auto graph = parse_or_die("x: f32[B]  z: f32[B]  y = call() { capture c = x  return c }  return y");
  EXPECT_EQ(graph->users()[0], (std::vector<NodeId>{0}));
  graph->replace_uses(0, 1);
  EXPECT_EQ(graph->node(0).regions[0]->captures()[0].outer, 1u);
}
TEST(Graph, ReplaceUsesReachesNodesAndOutputs) {
  const auto graph = parse_or_die(kChain);
  graph->replace_uses(named(*graph, "a"), named(*graph, "x"));
  EXPECT_EQ(print(*graph), "x: f32[B]\na = neg(x)\nb = exp(x)\nc = add(x, b)\nreturn c, x as a\n");
}
TEST(Graph, ErasedNodesAreSkippedUntilCompaction) {
  const auto graph = parse_or_die("x: f32[B]  y = neg(x)  z = exp(x)  return z");
  graph->erase(0);
  EXPECT_TRUE(verify(*graph).ok());
  EXPECT_EQ(print(*graph), "x: f32[B]\nz = exp(x)\nreturn z\n");
  EXPECT_EQ(graph->order().size(), 2u);
  EXPECT_TRUE(graph->compact());
  EXPECT_FALSE(graph->compact());
  EXPECT_EQ(graph->order(), (std::vector<NodeId>{1}));
}
TEST(Graph, AnErasedNameIsFree) {
  const auto graph = parse_or_die("x: f32[B]  y = neg(x)  return x");
  graph->erase(0);
  EXPECT_EQ(graph->value(Builder(*graph).op(Op::kExp, {0}, {}, {}, "y").value()[0]).name, "y");
}
TEST(Graph, RenameFreesTheOldName) {
  const auto graph = parse_or_die("x: f32[B]  y = neg(x)  return y");
  EXPECT_EQ(graph->rename(1, "x"), "x_1");
  EXPECT_EQ(graph->rename(0, "y"), "y");
  EXPECT_EQ(graph->rename(1, "x"), "x");
  EXPECT_TRUE(verify(*graph).ok());
}
TEST(Graph, InsertsBeforeANode) {
  const auto graph = parse_or_die("x: f32[B]  y = neg(x)  return y");
  const NodeId node = graph->insert_node(0, Op::kAbs, {0}, {}, {graph->type(0)});
  graph->node(0).inputs[0] = graph->node(node).outputs[0];
  EXPECT_EQ(print(*graph), "x: f32[B]\nabs = abs(x)\ny = neg(abs)\nreturn y\n");
  EXPECT_TRUE(verify(*graph).ok());
}
TEST(Graph, ReorderKeepsIds) {
  const auto graph = parse_or_die("x: f32[B]  a = neg(x)  b = exp(x)  return a, b");
  graph->reorder({1, 0});
  EXPECT_TRUE(verify(*graph).ok());
  EXPECT_EQ(print(*graph), "x: f32[B]\nb = exp(x)\na = neg(x)\nreturn a, b\n");
}
TEST(Graph, ACloneIsIndependent) {
  const auto graph = parse_or_die(R"(graph g
      fact B in [2, 9]
      scalar %f
      weight x: f32[B]
      y = call() { capture c = x  d = neg(c)  return d }
      return y as out)");
  const std::string text = print(*graph);
  const auto copy = graph->clone();
  EXPECT_EQ(print(*copy), text);
  copy->node(0).regions[0]->set_outputs({copy->node(0).regions[0]->captures()[0].inner});
  copy->facts.set_range(Dim::symbol("B"), {3, 3});
  EXPECT_EQ(print(*graph), text);
  EXPECT_NE(print(*copy), text);
}
TEST(Testing, PassesAreComparedUpToNames) {
  expect_pass(
      [](Graph& graph) {
        graph.replace_uses(2, 1);
        graph.erase(1);
      },
      "x: f32[B]  a = neg(x)  b = neg(x)  return b", "x: f32[B]  other = neg(x)  return other");
}

}  // namespace
}  // namespace tilewright
