// verify() finds each kind of damage and names it.
#include "tilewright/graph/testing.h"

namespace tilewright {
namespace {

std::unique_ptr<Graph> sample() {
  return parse_or_die(R"(
      c: bool[]
      x: f32[B, 4]
      y = softmax(x) axis=1
      z = add(y, x)
      r = if(c) { capture a = z  n = neg(a)  return n } { capture a = z  return a }
      return r
  )");
}
constexpr ValueId kX = 1, kY = 2, kZ = 3;

std::string found(const Graph& graph) {
  const Status status = verify(graph);
  return status.ok() ? "nothing" : status.error().message;
}

TEST(Verify, AcceptsTheSample) {
  EXPECT_EQ(found(*sample()), "nothing");
}

TEST(Verify, UseBeforeDefinition) {
  const auto graph = sample();
  graph->reorder({1, 0, 2});
  EXPECT_EQ(found(*graph), "'z' = add: 'y' is used before it is defined");
}
TEST(Verify, ValuesThatDoNotExist) {
  const auto graph = sample();
  graph->node(1).inputs[0] = 77;
  EXPECT_EQ(found(*graph), "'z' = add: value 77 does not exist");
}
TEST(Verify, Arity) {
  const auto graph = sample();
  graph->node(1).inputs.push_back(kX);
  EXPECT_EQ(found(*graph), "'z' = add: 3 inputs given, 2 to 2 expected");
}
TEST(Verify, MissingAttributes) {
  const auto graph = sample();
  graph->node(0).attrs = {};
  EXPECT_EQ(found(*graph), "'y' = softmax: attribute 'axis' is missing");
}
TEST(Verify, AttributesOfTheWrongKind) {
  const auto graph = sample();
  graph->node(0).attrs.set("axis", 1.5);
  EXPECT_EQ(found(*graph), "'y' = softmax: attribute 'axis' has the wrong kind: int expected, float given");
}
TEST(Verify, AttributesNobodyKnows) {
  const auto graph = sample();
  graph->node(1).attrs.set("axis", std::int64_t{1});
  EXPECT_EQ(found(*graph), "'z' = add: unknown attribute 'axis'; the attributes are: none");
}
TEST(Verify, DefaultsAreFilledIn) {
  const auto graph = parse_or_die("x: f32[4]  y = cumsum(x) axis=0\n return y");
  graph->node(0).attrs = {{"axis", 0}};
  EXPECT_EQ(found(*graph), "'y' = cumsum: attributes are missing or given twice");
}
TEST(Verify, RecordedTypes) {
  const auto graph = sample();
  graph->value(kY).type.shape[1] = 5;
  EXPECT_EQ(found(*graph), "'y' = softmax: 'y' is recorded as f32[B, 5] but is f32[B, 4]");
}
TEST(Verify, RecordedDtypes) {
  const auto graph = sample();
  graph->value(kZ).type.dtype = DType::kF16;
  EXPECT_EQ(found(*graph), "'z' = add: 'z' is recorded as f16[B, 4] but is f32[B, 4]");
}
TEST(Verify, ATypeThatMayBeTrueIsAccepted) {
  const auto graph = sample();
  graph->value(kY).type.shape[0] = Dim::symbol("other");
  EXPECT_EQ(found(*graph), "nothing");
}
TEST(Verify, NamesAreUniqueAndNotEmpty) {
  const auto graph = sample();
  graph->value(kY).name = "x";
  EXPECT_EQ(found(*graph), "'x' = softmax: the name 'x' is used twice");
  graph->value(kY).name = "";
  EXPECT_EQ(found(*graph), "'' = softmax: value 2 has no name");
}
TEST(Verify, ProducersAgree) {
  const auto graph = sample();
  graph->value(kY).producer = 1;
  EXPECT_EQ(found(*graph), "'y' = softmax: 'y' does not know its producer");
}
TEST(Verify, EveryLiveNodeIsInTheOrder) {
  const auto graph = sample();
  graph->node(2).dead = true;
  graph->compact();
  graph->node(2).dead = false;
  EXPECT_EQ(found(*graph), "the order leaves out 'r' = if");
}
TEST(Verify, ErasedNodesHaveNoUses) {
  const auto graph = sample();
  graph->erase(0);
  EXPECT_EQ(found(*graph), "'z' = add: 'y' is used before it is defined");
}
TEST(Verify, OutputsExist) {
  const auto graph = sample();
  graph->erase(2);
  EXPECT_EQ(found(*graph), "return: 'r' is used before it is defined");
}
TEST(Verify, CapturesPointOutside) {
  const auto graph = sample();
  graph->node(2).regions[0]->captures()[0].outer = 4;
  EXPECT_EQ(found(*graph), "'r' = if: region 0: 'a' captures a value that is not defined before the region");
}
TEST(Verify, CapturesKeepTheType) {
  const auto graph = sample();
  graph->node(2).regions[1]->captures()[0].outer = 0;
  EXPECT_EQ(found(*graph), "'r' = if: region 1: 'a' is f32[B, 4] but captures 'c', which is bool[]");
}
TEST(Verify, RegionsAreCounted) {
  const auto graph = sample();
  graph->node(2).regions.pop_back();
  EXPECT_EQ(found(*graph), "'r' = if: 1 regions given, 2 expected");
}
TEST(Verify, OnlyRegionsCapture) {
  Graph graph;
  graph.add_capture(0, {DType::kF32, {}}, "x");
  EXPECT_EQ(found(graph), "a graph that is no region captures values");
}
TEST(Verify, SymbolsAreBound) {
  expect_error("x: f32[4]  y = reshape(x) shape=[n, 2]\n return y",
               "'y' = reshape: attribute 'shape' uses the symbol n, which nothing binds before");
}
TEST(Verify, LateSymbolsAreBoundOnceAndBeforeUse) {
  expect_error("x: f32[n]  y = nonzero(x) count=n\n return y", "'y' = nonzero: the symbol n is bound already");
  expect_error("x: i64[]  y = iota() dtype=i64 shape=[u] axis=0\n item(x) symbol=u\n return y",
               "'y' = iota: attribute 'shape' uses the symbol u, which nothing binds before");
}
TEST(Verify, ARegionKnowsOuterSymbols) {
  EXPECT_EQ(result_types("x: f32[n]  y = call() { z = iota() dtype=i64 shape=[n] axis=0\n return z }  return y"),
            "i64[n]");
}
TEST(Verify, OnlyInputsAreAssigned) {
  expect_error("x: f32[4]  y = neg(x)  assign(y, x)  return",
               "assign: 'y' is no input of the graph, so it cannot be assigned");
}
TEST(Verify, ARegionAssignsThroughCaptures) {
  EXPECT_EQ(result_types("x: f32[4]  call() { capture b = x  y = neg(b)  assign(b, y)  return }  return x"), "f32[4]");
}

}  // namespace
}  // namespace tilewright
