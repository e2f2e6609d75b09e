#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void merge(Graph& graph) {
  merge_updates(graph);
  merge_updates(graph);
  remove_no_ops(graph);
  merge_reshapes(graph);
  remove_dead_nodes(graph);
}

TEST(MergeUpdates, RowsOfOneEntryOfACache) {
  expect_pass(merge, R"(
    x: f32[2, 4, S, 16]
    u: f32[4, n, 16]
    p = slice(x) start=[1, 0, 0, 0] stop=[2, 4, S, 16] step=[1, 1, 1, 1]
    q = reshape(p) shape=[4, S, 16]
    r = update_slice(q, u) start=[0, 3, 0] step=[1, 1, 1]
    t = reshape(r) shape=[1, 4, S, 16]
    y = update_slice(x, t) start=[1, 0, 0, 0] step=[1, 1, 1, 1]
    return y
  )",
              R"(
    x: f32[2, 4, S, 16]
    u: f32[4, n, 16]
    t = reshape(u) shape=[1, 4, n, 16]
    y = update_slice(x, t) start=[1, 0, 3, 0] step=[1, 1, 1, 1]
    return y
  )");
}

TEST(MergeUpdates, OneElementByItsIndices) {
  expect_pass(merge, R"(
    x: f32[8, 8]
    u: f32[1]
    p = slice(x) start=[2, 0] stop=[3, 8] step=[1, 1]
    q = reshape(p) shape=[8]
    r = update_slice(q, u) start=[5] step=[1]
    t = reshape(r) shape=[1, 8]
    y = update_slice(x, t) start=[2, 0] step=[1, 1]
    return y
  )",
              R"(
    x: f32[8, 8]
    u: f32[1]
    t = reshape(u) shape=[1, 1]
    y = update_slice(x, t) start=[2, 5] step=[1, 1]
    return y
  )");
}

TEST(MergeUpdates, StepsMultiply) {
  expect_pass(merge, R"(
    x: f32[20]
    u: f32[3]
    p = slice(x) start=[2] stop=[14] step=[2]
    r = update_slice(p, u) start=[1] step=[2]
    y = update_slice(x, r) start=[2] step=[2]
    return y
  )",
              "x: f32[20] u: f32[3] y = update_slice(x, u) start=[4] step=[4] return y");
}

TEST(MergeUpdates, AnUpdateThatMayLeaveThePartStays) {
  constexpr std::string_view text = R"(
    x: f32[20]
    u: f32[n]
    p = slice(x) start=[2] stop=[10] step=[1]
    r = update_slice(p, u) start=[1] step=[1]
    y = update_slice(x, r) start=[2] step=[1]
    return y
  )";
  expect_pass(merge, text, text);
}

TEST(MergeUpdates, APartThatIsPutElsewhereStays) {
  constexpr std::string_view text = R"(
    x: f32[20]
    u: f32[2]
    p = slice(x) start=[2] stop=[10] step=[1]
    r = update_slice(p, u) start=[1] step=[1]
    y = update_slice(x, r) start=[3] step=[1]
    return y
  )";
  expect_pass(merge, text, text);
}

}  // namespace
}  // namespace tilewright::passes
