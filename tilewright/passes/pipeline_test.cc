#include <fmt/format.h>

#include <ctime>

#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"
#include "tilewright/passes/transformer_graph.h"

namespace tilewright::passes {
namespace {

std::size_t count(const Graph& graph, Op op) {
  std::size_t found = 0;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    found += node.op == op;
    for (const auto& region : node.regions) found += count(*region, op);
  }
  return found;
}

TEST(Pipeline, AnEncoderLayerIsFewKernels) {
  const auto graph = TransformerGraph::make(2);
  const auto reports = run_pipeline(*graph, {.verify_each = true});
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  EXPECT_EQ(count(*graph, Op::kLayerNorm), 4u);
  EXPECT_EQ(count(*graph, Op::kGelu), 2u);
  EXPECT_EQ(count(*graph, Op::kAttention), 2u);
  // Per layer: q, k, v, projection with its residual, norm, two of the feed-forward, norm.
  EXPECT_EQ(count(*graph, Op::kFused), 16u) << print(*graph);
}

// Processor time, the least of five runs. Eight times the nodes may not take more than 24 times as long: quadratic
// takes 64.
TEST(Pipeline, TimeGrowsWithTheNumberOfNodes) {
  const auto ticks = [](int layers) {
    std::clock_t best = 0;
    for (int i = 0; i < 5; ++i) {
      const auto graph = TransformerGraph::make(layers);
      const std::clock_t start = std::clock();
      EXPECT_TRUE(run_pipeline(*graph).ok());
      const std::clock_t taken = std::clock() - start;
      best = i == 0 ? taken : std::min(best, taken);
    }
    return static_cast<double>(best);
  };
  const double small = ticks(12), large = ticks(96);
  EXPECT_LT(large, small * 24);
}

TEST(Pipeline, SkipsAndPrintsByName) {
  const auto graph = parse_or_die("x: f32[B] a = neg(x) b = neg(a) y = exp(b) return y");
  const auto reports = run_pipeline(
      *graph, {.skip = {"fuse_areas", "fuse_decided_areas", "fuse_nothing"}, .print_after = {"remove_no_ops"}});
  ASSERT_TRUE(reports.ok());
  EXPECT_EQ(reports->front().name, "remove_no_ops");
  EXPECT_TRUE(reports->front().changed);
  EXPECT_NE(reports->front().printed.find("exp(x)"), std::string::npos) << reports->front().printed;
  EXPECT_EQ(count(*graph, Op::kFused), 0u);
}

TEST(Pipeline, FusionIsSkippedInSteps) {
  const std::string_view text = "x: f32[B] y: f32[C] a = exp(x) s = tanh(a) b = add(s, y) return b";
  const auto areas = [&](std::vector<std::string> skip) {
    const auto graph = parse_or_die(text);
    const auto reports = run_pipeline(*graph, {.skip = std::move(skip), .verify_each = true});
    EXPECT_TRUE(reports.ok());
    std::size_t speculative = 0;
    for (const PassReport& report : *reports) speculative += report.fused.speculative.size();
    return std::pair(count(*graph, Op::kFused), speculative);
  };
  EXPECT_EQ(areas({}), std::pair(std::size_t{2}, std::size_t{1}));
  EXPECT_EQ(areas({"fuse_areas"}), std::pair(std::size_t{2}, std::size_t{0}));
  EXPECT_EQ(areas({"fuse_areas", "fuse_decided_areas"}), std::pair(std::size_t{3}, std::size_t{0}));
}

TEST(Pipeline, RegionsAreOptimisedToo) {
  const auto graph = parse_or_die(
      "x: f32[B] c: bool[] r = if(c) { capture a = x  n = neg(a)  m = neg(n)  e = exp(m)  return e } { capture a = x  "
      "return a } return r");
  ASSERT_TRUE(run_pipeline(*graph, {.verify_each = true}).ok());
  EXPECT_EQ(count(*graph, Op::kNeg), 0u);
  EXPECT_EQ(count(*graph, Op::kFused), 1u);
}

}  // namespace
}  // namespace tilewright::passes
