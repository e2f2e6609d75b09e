// Which kernels of a graph end up in one launch.
#include "tilewright/runtime/launches.h"

#include <gtest/gtest.h>

#include "tilewright/graph/testing.h"
#include "tilewright/runtime/session.h"

namespace tilewright::runtime {
namespace {

// Number of instructions per launch, for inputs of the sizes that the graph gives.
std::vector<int> launches_of(std::string_view text) {
  auto graph = parse_or_die(text);
  std::vector<std::vector<std::int64_t>> sizes;
  for (ValueId input : graph->inputs()) {
    sizes.emplace_back();
    for (Dim dim : graph->type(input).shape) sizes.back().push_back(*dim.constant());
  }
  auto session = Session::compile(std::move(graph));
  TW_CHECK(session.ok(), "the graph compiles");
  const auto programs = (*session)->encode(sizes);
  TW_CHECK(programs.ok(), "the call is encoded");
  std::vector<int> launches;
  for (const isa::Program& program : *programs) {
    for (std::size_t at = 0; at < program.words.size(); at += isa::Inst(program.words.data() + at).num_words()) {
      if (isa::Inst(program.words.data() + at).beside()) {
        ++launches.back();
      } else {
        launches.push_back(1);
      }
    }
  }
  return launches;
}

TEST(Launches, ProjectionsOfOneInputShareALaunch) {
  EXPECT_EQ(launches_of(R"(
    x: f32[16, 16]
    q: f32[16, 16]
    k: f32[16, 16]
    v: f32[16, 16]
    a = matmul(x, q)
    b = matmul(x, k)
    c = matmul(x, v)
    s = matmul(a, b)
    r = matmul(s, c)
    return r
  )"),
            (std::vector<int>{3, 1, 1}));
}

TEST(Launches, AChainDoesNot) {
  EXPECT_EQ(launches_of(R"(
    x: f32[8, 8]
    a = matmul(x, x)
    b = matmul(a, x)
    c = matmul(b, x)
    return c
  )"),
            (std::vector<int>{1, 1, 1}));
}

TEST(Launches, AReaderThroughAViewDoesNotJoin) {
  EXPECT_EQ(launches_of(R"(
    x: f32[8, 8]
    a = matmul(x, x)
    t = transpose(a) perm=[1,0]
    b = matmul(t, x)
    return b
  )"),
            (std::vector<int>{1, 1}));
}

TEST(Launches, PartsOfOneConcatDoNotOverlap) {
  EXPECT_EQ(launches_of(R"(
    x: f32[16, 16]
    q: f32[16, 16]
    k: f32[16, 16]
    v: f32[16, 16]
    a = matmul(x, q)
    b = matmul(x, k)
    c = matmul(x, v)
    s = concat(a, b, c) axis=0
    r = matmul(s, x)
    return r
  )"),
            (std::vector<int>{3, 1}));
}

TEST(Launches, PartsMayLieBetweenEachOthersRows) {
  EXPECT_EQ(launches_of(R"(
    x: f32[16, 16]
    q: f32[16, 16]
    k: f32[16, 32]
    a = matmul(x, q)
    b = matmul(x, k)
    e = relu(b)
    s = concat(a, e) axis=1
    r = matmul(x, s)
    return r
  )"),
            (std::vector<int>{2, 1}));
}

TEST(Launches, AReaderOfAConcatWaitsForAllOfItsParts) {
  EXPECT_EQ(launches_of(R"(
    x: f32[16, 16]
    q: f32[16, 16]
    a = matmul(x, q)
    b = matmul(q, x)
    s = concat(a, b) axis=0
    t = slice(s) start=[0,0] stop=[16,16] step=[1,1]
    r = matmul(t, x)
    return r, s
  )"),
            (std::vector<int>{2, 1}));
}

// Eight experts of two products each, written one after the other: two launches of eight.
TEST(Launches, ChainsOfExpertsRunSideBySide) {
  std::string text = "x: f32[16, 16] ";
  std::string results;
  for (int i = 0; i < 8; ++i) text += fmt::format("w{0}: f32[16, 16] ", i);
  for (int i = 0; i < 8; ++i) {
    text += fmt::format("h{0} = matmul(x, w{0}) r{0} = relu(h{0}) e{0} = matmul(r{0}, w{0}) ", i);
    results += fmt::format("{}e{}", i == 0 ? "" : ", ", i);
  }
  EXPECT_EQ(launches_of(text + "return " + results), (std::vector<int>{8, 8}));
}

TEST(Launches, AStepOfAnOptimiserOverManyParameters) {
  std::string text, results;
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("p{0}: f32[{1}] g{0}: f32[{1}] m{0}: f32[{1}] ", i, 16 + i);
  }
  text += "a = scalar() dtype=f32 value=0.9 b = scalar() dtype=f32 value=-0.1 ";
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("k{0} = mul(m{0}, a) n{0} = add(k{0}, g{0}) d{0} = mul(n{0}, b) q{0} = add(p{0}, d{0}) ", i);
    results += fmt::format("{0}n{1}, q{1}", i == 0 ? "" : ", ", i);
  }
  EXPECT_EQ(launches_of(text + "return " + results), (std::vector<int>{16, 4}));
}

// Of other kinds, or further on in a chain: they stay where they are.
TEST(Launches, OnlyTheLikeComesForward) {
  EXPECT_EQ(launches_of(R"(
    x: f32[16, 16]
    a = matmul(x, x)
    b = softmax(a) axis=1
    c = exp(x)
    d = matmul(b, c)
    e = matmul(x, b)
    return d, e
  )"),
            (std::vector<int>{1, 2, 2}));
}

// What the first of two neighbours releases may not become the memory of the second.
TEST(Launches, MemoryIsKeptUntilTheLaunchEnds) {
  const auto launches = launches_of(R"(
    x: f32[8, 8]
    y: f32[8, 8]
    s = softmax(y) axis=1
    a = matmul(x, x)
    b = matmul(a, x)
    c = matmul(s, y)
    d = matmul(b, c)
    return d
  )");
  EXPECT_EQ(launches, (std::vector<int>{2, 2, 1}));
}

}  // namespace
}  // namespace tilewright::runtime
