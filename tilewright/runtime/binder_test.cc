// Arena layout: what a call needs beside its inputs and outputs is at most 1.2 times what is live at once.
#include "tilewright/runtime/binder.h"

#include <gtest/gtest.h>

#include "tilewright/runtime/session.h"

namespace tilewright::runtime {
namespace {

struct Peak {
  std::int64_t arena, live;
};

// Bytes of the arena, and of the computed values that are alive at the same time, step by step. Sizes are constants.
Peak peak_of(std::string_view text) {
  auto graph = parse_graph(text);
  TW_CHECK(graph.ok(), "the text parses");
  std::vector<std::vector<std::int64_t>> sizes;
  const auto size = [](Dim dim) { return *dim.constant(); };
  for (ValueId input : (*graph)->inputs()) {
    sizes.emplace_back();
    for (Dim dim : (*graph)->type(input).shape) sizes.back().push_back(size(dim));
  }
  auto session = Session::compile(std::move(*graph));
  TW_CHECK(session.ok(), "the graph compiles");
  const auto programs = (*session)->encode(sizes);
  if (!programs.ok()) ADD_FAILURE() << programs.error().message;
  TW_CHECK(programs.ok(), "the call is encoded");
  const Plan& plan = (*session)->plan();
  std::vector<char> in_output(plan.values.size(), 0);
  for (const PlanOutput& output : plan.outputs) in_output[plan.values[output.value].root] = 1;
  std::int64_t now = 0, most = 0;
  const auto bytes = [&](ValueId value) {
    std::int64_t count = byte_size(plan.values[value].dtype);
    for (Dim dim : plan.graph->type(value).shape) count *= size(dim);
    return plan.values[value].origin == Origin::kComputed && in_output[value] == 0 ? count : 0;
  };
  for (const Step& step : plan.steps) {
    for (ValueId value : step.outputs) now += bytes(value);
    most = std::max(most, now);
    for (ValueId root : step.released) now -= bytes(root);
  }
  return {(*programs)[0].buffers[0].bytes, most};
}

void expect_tight(std::string_view text) {
  const Peak peak = peak_of(text);
  EXPECT_GE(peak.arena, peak.live);
  EXPECT_LE(static_cast<double>(peak.arena), 1.2 * static_cast<double>(peak.live) + 512);
}

TEST(Binder, AChainNeedsTwoValues) {
  expect_tight(R"(
    x: f32[64, 64]
    a = matmul(x, x)
    b = matmul(a, x)
    c = matmul(b, x)
    d = matmul(c, x)
    e = matmul(d, x)
    return e
  )");
}

TEST(Binder, ValuesOfGrowingSizeReuseWhatIsFree) {
  expect_tight(R"(
    x: f32[16, 512]
    w: f32[512, 512]
    v: f32[512, 2048]
    u: f32[2048, 512]
    a = matmul(x, w)
    b = matmul(a, v)
    g = gelu(b)
    c = matmul(g, u)
    d = matmul(c, v)
    e = matmul(d, u)
    f = softmax(e) axis=1
    h = matmul(f, w)
    return h
  )");
}

TEST(Binder, ACopyThatAReshapeMadeOfAnInputIsReleased) {
  const Peak peak = peak_of(R"(
    x: f32[64, 64]
    t = transpose(x) perm=[1,0]
    r = reshape(t) shape=[4096]
    e = reduce_sum(r) axes=[0]
    f = flip(x) axes=[1]
    s = reshape(f) shape=[4096]
    g = reduce_max(s) axes=[0]
    return e, g
  )");
  EXPECT_LE(peak.arena, 64 * 64 * 4 + 512) << "one copy at a time";
}

TEST(Binder, OutputsNeedNoArena) {
  EXPECT_EQ(peak_of("x: f32[100]\ny = exp(x)\nreturn y").arena, 0);
}

TEST(Binder, AReshapedOutputIsWrittenInPlace) {
  EXPECT_EQ(peak_of("x: f32[10, 10]\ny = exp(x)\nz = reshape(y) shape=[100]\nreturn z").arena, 0);
}

}  // namespace
}  // namespace tilewright::runtime
