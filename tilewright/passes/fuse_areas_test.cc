// Graph in, areas out: one test per rule of fuse_rules.h, and the refusals.
#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

std::string operations(const Graph& graph) {
  std::string text;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!text.empty()) text += " ";
    if (node.op != Op::kFused) {
      text += info(node.op).text;
      continue;
    }
    text += fmt::format("{}({})", node.attrs.text("kind"), operations(*node.regions[0]));
    if (node.outputs.size() != 1) text += fmt::format("->{}", node.outputs.size());
  }
  return text;
}

// " [B=C ? rows(exp add)]": the kernel that several areas are if sizes agree.
std::string describe(const SpeculativeArea& area) {
  std::string sizes;
  for (std::size_t i = 0; i + 1 < area.equal.size(); i += 2)
    sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ",", area.equal[i], area.equal[i + 1]);
  std::string text = fmt::format(" [{} ? {}({})", sizes, area.kind, operations(*area.region));
  if (area.outputs.size() != 1) text += fmt::format("->{}", area.outputs.size());
  return text + "]";
}

// The nodes after fusion: "rows(exp reduce_sum div)" is an area, "->2" its number of results if not one.
void expect_areas(std::string_view text, std::string_view areas) {
  const auto graph = parse_or_die(text);
  split_reduces(*graph);
  FuseReport report;
  fuse_areas(*graph, &report);
  const Status status = verify(*graph);
  ASSERT_TRUE(status.ok()) << status.error().message << "\n" << print(*graph);
  std::string found = operations(*graph);
  for (const SpeculativeArea& one : report.speculative) found += describe(one);
  EXPECT_EQ(found, areas) << print(*graph);
}

std::string refusals(std::string_view text) {
  const auto graph = parse_or_die(text);
  FuseReport report;
  fuse_areas(*graph, &report);
  std::string out;
  for (const FuseRefusal& one : report.refused)
    out += fmt::format("{} -> {}: {}\n", one.producer, one.consumer, one.reason);
  return out;
}

TEST(FuseAreas, ElementwiseChains) {
  expect_areas("x: f32[B, S] y: f32[B, S] a = add(x, y) b = tanh(a) c = mul(b, x) return c", "map(add tanh mul)");
}
TEST(FuseAreas, ValuesThatOthersReadAreResults) {
  expect_areas("x: f32[B, S] a = exp(x) b = tanh(a) return b, a", "map(exp tanh)->2");
}
TEST(FuseAreas, DifferentShapesStayApart) {
  expect_areas("x: f32[B] y: f32[C] a = exp(x) b = exp(y) return a, b", "map(exp) map(exp)");
}
TEST(FuseAreas, ABroadcastProducerIsComputedAgain) {
  expect_areas("x: f32[B, S] m: f32[S] a = neg(m) b = add(x, a) return b", "map(neg add)");
}
TEST(FuseAreas, ADearBroadcastProducerStays) {
  expect_areas("x: f32[B, S] m: f32[S] a = exp(m) b = add(x, a) return b", "map(exp) map(add)");
}
TEST(FuseAreas, ABroadcastProducerThatOthersReadStays) {
  expect_areas("x: f32[B, S] m: f32[S] a = neg(m) b = add(x, a) return b, a", "map(neg) map(add)");
}
TEST(FuseAreas, ACheapProducerOfAnUndecidedBroadcastIsComputedAgain) {
  expect_areas("x: f32[B, S] m: f32[C, S] a = neg(m) b = add(x, a) return b", "map(neg add)");
}
TEST(FuseAreas, PartsOfAnUndecidedBroadcastBroadcastIntoIt) {
  expect_areas("x: f32[B] y: f32[C] z: f32[D] a = neg(x) b = add(a, y) c = mul(b, z) return c", "map(neg add mul)");
}
TEST(FuseAreas, ScalarsAreCopiedIntoEveryArea) {
  expect_areas("x: f32[B] y: f32[C] k = scalar() dtype=f32 value=2.0 a = mul(x, k) b = mul(y, k) return a, b",
               "map(scalar mul) map(scalar mul)");
}
TEST(FuseAreas, ExpandsAreCopiedIntoEveryArea) {
  expect_areas(R"(x: f32[B, S] m: f32[S] z: f32[C, B, S]
      e = expand(m) shape=[B,S]
      a = mul(x, e)
      b = add(z, e)
      return a, b)",
               "map(expand mul) map(expand add)");
}
TEST(FuseAreas, AnExpandThatIsAResultStaysToo) {
  expect_areas("x: f32[B, S] m: f32[S] e = expand(m) shape=[B,S] a = mul(x, e) return a, e", "expand map(expand mul)");
}
TEST(FuseAreas, AreasLookThroughExpands) {
  expect_areas(R"(x: f32[B, S]
      s = reduce_sum(x) axes=[1] keepdim=1
      e = expand(s) shape=[B,S]
      y = div(x, e)
      return y)",
               "rows(reduce_sum expand div)");
}
TEST(FuseAreas, AnExpandBetweenTwoAreas) {
  expect_areas(R"(x: f32[B, S] z: f32[B, S, C]
      s = reduce_sum(x) axes=[1] keepdim=1
      e = expand(s) shape=[B,S]
      y = tanh(e)
      m = transpose(y) perm=[1,0]
      return m, s)",
               "rows(reduce_sum expand tanh)->2 transpose");
}
TEST(FuseAreas, ScalarsThatKernelsReadAreAreas) {
  expect_areas("x: f32[B] k = scalar() dtype=f32 value=2.0 y = pad(x, k) low=[1] high=[0] return y", "map(scalar) pad");
}

TEST(FuseRows, ProducersJoinAReduction) {
  expect_areas("x: f32[B, S] a = exp(x) s = reduce_sum(a) axes=[1] keepdim=1 return s", "rows(exp reduce_sum)");
}
TEST(FuseRows, ConsumersOverTheDomainJoin) {
  expect_areas(R"(x: f32[B, S] m = reduce_max(x) axes=[1] keepdim=1 d = sub(x, m) e = exp(d)
      s = reduce_sum(e) axes=[1] keepdim=1 y = div(e, s) return y)",
               "rows(reduce_max sub exp reduce_sum div)");
}
TEST(FuseRows, ConsumersOfRowValuesJoin) {
  expect_areas("x: f32[B, S] s = reduce_sum(x) axes=[1] keepdim=1 r = sqrt(s) return r", "rows(reduce_sum sqrt)");
}
TEST(FuseRows, ReductionsOfOneValueShareTheirRows) {
  expect_areas(R"(x: f32[B, S] a = reduce_sum(x) axes=[1] keepdim=1 b = reduce_max(x) axes=[1] keepdim=1
      c = reduce_min(x) axes=[1] keepdim=1 return a, b, c)",
               "rows(reduce_sum reduce_max reduce_min)->3");
}
TEST(FuseRows, OtherRowsStayApart) {
  expect_areas(
      R"(x: f32[A, B, S] a = reduce_sum(x) axes=[2] keepdim=1 b = reduce_sum(x) axes=[1,2] keepdim=1 return a, b)",
      "rows(reduce_sum) rows(reduce_sum)");
}
TEST(FuseRows, NativeNormsAndTheirNeighbours) {
  expect_areas(
      "x: f32[B, 64] r: f32[B, 64] w: f32[64] a = add(x, r) n = layer_norm(a, w) num_axes=1 eps=1e-05 g = silu(n) "
      "return g",
      "rows(add layer_norm silu)");
}
TEST(FuseRows, AWeightOfANormIsReadFromMemory) {
  expect_areas("x: f32[B, 64] w: f32[64] v = neg(w) n = layer_norm(x, v) num_axes=1 eps=1e-05 return n",
               "map(neg) rows(layer_norm)");
}
TEST(FuseRows, LongChainsOfReductionsAreCut) {
  std::string text = "x: f32[B, S] v0 = neg(x) ";
  for (int i = 0; i < 9; ++i) {
    text += fmt::format("s{0} = reduce_sum(v{0}) axes=[1] keepdim=1 v{1} = sub(v{0}, s{0}) ", i, i + 1);
  }
  const auto graph = parse_or_die(text + "return v9");
  fuse_areas(*graph);
  EXPECT_GE(graph->order().size(), 2u);
  EXPECT_TRUE(verify(*graph).ok());
}

TEST(FuseColumns, ProducersAndConsumersOfFinishedValues) {
  expect_areas("x: f32[B, S] a = exp(x) s = reduce_sum(a) axes=[0] keepdim=1 r = sqrt(s) return r",
               "columns(exp reduce_sum sqrt)");
}
TEST(FuseColumns, AProducerThatOthersReadStays) {
  expect_areas("x: f32[B, S] a = exp(x) s = reduce_sum(a) axes=[0] keepdim=1 return s, a",
               "map(exp) columns(reduce_sum)");
}
TEST(FuseColumns, TwoConsumersOfFinishedValues) {
  expect_areas("x: f32[B, S] s = reduce_sum(x) axes=[0] keepdim=1 a = sqrt(s) b = neg(s) return a, b",
               "columns(reduce_sum sqrt neg)->2");
}
TEST(FuseColumns, ConsumersOverTheDomainStay) {
  expect_areas("x: f32[B, S] s = reduce_sum(x) axes=[0] keepdim=1 y = sub(x, s) return y",
               "columns(reduce_sum) map(sub)");
}
TEST(FuseColumns, ReductionsOfOneValueShareTheirPass) {
  expect_areas("x: f32[B, S] a = reduce_sum(x) axes=[0] keepdim=1 b = reduce_max(x) axes=[0] keepdim=1 return a, b",
               "columns(reduce_sum reduce_max)->2");
}
TEST(FuseColumns, AReductionThatReadsAnotherStays) {
  expect_areas(
      R"(x: f32[B, S] a = reduce_sum(x) axes=[0] keepdim=1 d = sub(x, a) q = mul(d, d) v = reduce_sum(q) axes=[0] keepdim=1
      return v)",
      "columns(reduce_sum) columns(sub mul reduce_sum)");
}

TEST(FuseMatMul, AnEpilogueJoins) {
  expect_areas(
      "x: f32[B, 8] w: f32[8, 4] b: f32[4] r: f32[B, 4] y = matmul(x, w) a = add(y, b) g = gelu(a) s = add(g, r) "
      "return s",
      "matmul(matmul add gelu add)");
}
TEST(FuseMatMul, AnEpilogueWithTwoResults) {
  expect_areas("x: f32[B, 8] w: f32[8, 4] y = matmul(x, w) g = gelu(y) return g, y", "matmul(matmul gelu)->2");
}
TEST(FuseMatMul, AProducerOfAnOperandStays) {
  expect_areas("x: f32[B, 8] w: f32[8, 4] a = exp(x) y = matmul(a, w) return y", "map(exp) matmul(matmul)");
}
TEST(FuseMatMul, AnOperandThatTheEpilogueReadsStays) {
  expect_areas("x: f32[B, 8] w: f32[8, 8] a = neg(x) y = matmul(a, w) z = add(y, a) return z",
               "map(neg) matmul(matmul add)");
}
TEST(FuseMatMul, AnExpandedOperandStaysOutside) {
  expect_areas("x: f32[B, 8] s: f32[1, 4] w = expand(s) shape=[8,4] y = matmul(x, w) return y",
               "expand matmul(matmul)");
}
TEST(FuseMatMul, TwoMatMulsStayApart) {
  expect_areas("x: f32[B, 8] w: f32[8, 8] y = matmul(x, w) z = matmul(y, w) a = add(y, z) return a",
               "matmul(matmul) matmul(matmul add)");
}
TEST(FuseMatMul, AReductionOfTheResultStays) {
  expect_areas("x: f32[B, 8] w: f32[8, 8] y = matmul(x, w) s = softmax(y) axis=1 return s",
               "matmul(matmul) rows(softmax)");
}

TEST(FuseSpeculation, ADearProducerJoinsIfSizesAgree) {
  expect_areas("x: f32[B, S] m: f32[C, S] a = exp(m) b = add(x, a) return b",
               "map(exp) map(add) [C=broadcast(B, C) ? map(exp add)]");
}
TEST(FuseSpeculation, ASumOfUndecidedSizesFeedsReductions) {
  expect_areas(R"(x: f32[B, S] y: f32[C, S] a = exp(x) b = exp(y) c = add(a, b)
      s = reduce_sum(a) axes=[1] keepdim=1 t = reduce_sum(c) axes=[1] keepdim=1 return s, t)",
               "rows(exp reduce_sum)->2 map(exp) rows(add reduce_sum) "
               "[C=B,B=broadcast(B, C) ? rows(exp exp add reduce_sum reduce_sum)->2]");
}
TEST(FuseSpeculation, AProducerThatOthersRead) {
  expect_areas("x: f32[B, S] m: f32[C, S] a = neg(m) b = add(x, a) return b, a",
               "map(neg) map(add) [C=broadcast(B, C) ? map(neg add)->2]");
}
TEST(FuseSpeculation, AnEpilogueOfUndecidedSize) {
  expect_areas("x: f32[B, 8] w: f32[8, 4] r: f32[C, 4] y = matmul(x, w) z = add(y, r) return z",
               "matmul(matmul) map(add) [broadcast(B, C)=B ? matmul(matmul add)]");
}
TEST(FuseSpeculation, ConsumersOfRowValues) {
  expect_areas("x: f32[B, S] r: f32[C, 1] s = reduce_sum(x) axes=[1] keepdim=1 y = add(s, r) return y",
               "rows(reduce_sum) map(add) [broadcast(B, C)=B ? rows(reduce_sum add)]");
}
TEST(FuseSpeculation, NoSizeIsAssumedToBeOne) {
  expect_areas("x: f32[B, S] m: f32[S] a = exp(m) b = add(x, a) return b", "map(exp) map(add)");
  expect_areas("x: f32[B, S] m: f32[1, S] a = exp(m) b = add(x, a) return b", "map(exp) map(add)");
}
TEST(FuseSpeculation, NumbersAreDecided) {
  expect_areas("x: f32[4, 8] m: f32[4, 8] a = exp(m) b = add(x, a) return b", "map(exp add)");
  expect_areas("x: f32[4, 8] m: f32[1, 8] a = exp(m) b = add(x, a) return b", "map(exp) map(add)");
}
TEST(FuseSpeculation, ACycleKeepsAreasApart) {
  expect_areas("x: f32[B, B] m: f32[C, C] a = exp(m) t = transpose(a) perm=[1,0] p = add(a, x) y = add(p, t) return y",
               "map(exp) transpose map(add add)");
}

TEST(FuseWidths, FourAndEightBytesStayApart) {
  expect_areas("x: f32[B] i: i64[B] a = exp(x) b = neg(i) return a, b", "map(exp) map(neg)");
}
TEST(FuseWidths, ACastLoadsForTheAreaBehindIt) {
  expect_areas("i: i64[B] a = neg(i) c = cast(a) dtype=f32 y = exp(c) z = neg(y) return z",
               "map(neg) map(cast exp neg)");
}
TEST(FuseWidths, ACastStoresForTheAreaBeforeIt) {
  expect_areas("x: f32[B] a = exp(x) c = cast(a) dtype=i64 return c", "map(exp cast)");
}
TEST(FuseWidths, AMaskOfWiderLanesIsStored) {
  expect_areas("i: i64[B] x: f32[B] z: f32[B] m = lt(i, i) y = select(m, x, z) return y", "map(lt) map(select)");
}
TEST(FuseWidths, ALoadedCastIsNotStoredWithAnother) {
  expect_areas("x: f32[B] a = cast(x) dtype=i64 b = cast(a) dtype=f16 return b", "map(cast) map(cast)");
}
TEST(FuseWidths, AReaderOfAStoredCastStays) {
  expect_areas("x: f32[B] z: f64[B] a = exp(x) c = cast(a) dtype=f64 y = add(c, z) return y, a",
               "map(exp) map(cast add)");
}

TEST(FuseCycles, AValueThatLeavesAndComesBackKeepsAreasApart) {
  expect_areas("x: f32[8, 8] a = exp(x) t = transpose(a) perm=[1,0] y = add(a, t) return y",
               "map(exp) transpose map(add)");
}
TEST(FuseCycles, ThroughALateSize) {
  expect_areas(R"(x: f32[B]
      a = neg(x)
      p = nonzero(a) count=u0
      n = scalar() dtype=f32 value=u0
      y = div(a, n)
      return y, p)",
               "map(neg) nonzero map(scalar div)");
}
TEST(FuseCycles, ThroughARegion) {
  expect_areas(R"(x: f32[8] c: bool[]
      a = neg(x)
      r = if(c) { capture o = a  return o } { capture p = a  q = exp(p)  return q }
      y = add(a, r)
      return y)",
               "map(neg) if map(add)");
}

TEST(FuseReport, NamesBothAreasAndTheReason) {
  EXPECT_EQ(refusals("x: f32[8, 8] a = exp(x) t = transpose(a) perm=[1,0] y = add(a, t) return y"),
            "a -> y: a value would leave the area and come back\n");
  EXPECT_EQ(refusals("x: f32[B, 8] w: f32[8, 8] a = neg(x) y = matmul(a, w) z = add(y, a) return z"),
            "a -> z: a matmul reads the values as an operand\n");
  EXPECT_EQ(refusals("x: f32[B, S] m: f32[S] a = exp(m) b = add(x, a) return b"),
            "a -> b: too costly to compute again for each row\n");
}
TEST(FuseReport, TellsWhatACallDecides) {
  EXPECT_EQ(refusals("x: f32[B, S] m: f32[C, S] a = exp(m) b = add(x, a) return b"),
            "a -> b: one kernel in calls where the sizes are equal\n");
}

}  // namespace
}  // namespace tilewright::passes
