#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

TEST(RemoveDeadNodes, ALoopStaysForTheCountItBinds) {
  const std::string_view text = R"(
    go: bool[]
    x: f32[2]
    last = scan(go, x) carried=1 trips=9 conditional=1 count=[u0] {
      i: i64[]
      s: f32[2]
      capture c = go
      return c, s
    }
    y = iota() dtype=i64 shape=[u0] axis=0
    return y)";
  expect_pass(remove_dead_nodes, text, text);
}

TEST(RemoveDeadNodes, ALoopNobodyReadsGoes) {
  expect_pass(remove_dead_nodes, R"(
    x: f32[2]
    last = scan(x) carried=1 trips=9 {
      i: i64[]
      s: f32[2]
      return s
    }
    return x)",
              "x: f32[2] return x");
}

}  // namespace
}  // namespace tilewright::passes
