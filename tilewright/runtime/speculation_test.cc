// Speculative kernels: the form that sizes choose is the one that runs, both compute the same, and each choice is
// counted.
#include <gtest/gtest.h>

#include "tilewright/graph/testing.h"
#include "tilewright/runtime/explain.h"
#include "tilewright/runtime/oracle_testing.h"
#include "tilewright/runtime/session.h"
#include "tilewright/runtime/stats.h"

namespace tilewright::runtime {
namespace {

// a[?] + b[?] feeding reductions.
constexpr std::string_view kSums = R"(
  x: f32[B, S]
  y: f32[C, S]
  a = exp(x)
  b = exp(y)
  c = add(a, b)
  s = reduce_sum(a) axes=[1] keepdim=1
  t = reduce_sum(c) axes=[1] keepdim=1
  return s, t
)";

std::unique_ptr<Session> compile(std::string_view text) {
  auto session = Session::compile(parse_or_die(text));
  TW_CHECK(session.ok(), "the graph of a test compiles");
  return std::move(*session);
}

std::size_t instructions(Session& session, const std::vector<std::vector<std::int64_t>>& sizes) {
  const auto programs = session.encode(sizes);
  TW_CHECK(programs.ok(), "the call is encoded");
  std::size_t count = 0;
  for (const isa::Program& program : *programs) {
    for (std::size_t at = 0; at < program.words.size(); at += isa::Inst(program.words.data() + at).num_words()) ++count;
  }
  return count;
}

struct Choices {
  std::int64_t fused = stats().speculations_fused, split = stats().speculations_split;
};

TEST(Speculation, EqualSizesAreOneKernelOthersSeveral) {
  const auto session = compile(kSums);
  EXPECT_EQ(instructions(*session, {{5, 16}, {5, 16}}), 1u);
  EXPECT_EQ(instructions(*session, {{5, 16}, {1, 16}}), 3u);
  EXPECT_EQ(instructions(*session, {{1, 16}, {5, 16}}), 3u);
  EXPECT_EQ(instructions(*session, {{1, 16}, {1, 16}}), 1u);
}

TEST(Speculation, BothFormsComputeTheSame) {
  testing::expect_oracle(kSums,
                         {{{4, 37}, {4, 37}},
                          {{1, 37}, {4, 37}},
                          {{4, 37}, {1, 37}},
                          {{1, 37}, {1, 37}},
                          {{0, 37}, {0, 37}},
                          {{0, 37}, {1, 37}},
                          {{4, 37}, {4, 37}},
                          {{600, 37}, {600, 37}},
                          {{600, 37}, {1, 37}}},
                         1e-4);
}

TEST(Speculation, EachChoiceIsCountedWithEveryCall) {
  const auto session = compile(kSums);
  const Tensor five = Tensor::zeros(DType::kF32, {5, 4}), one = Tensor::zeros(DType::kF32, {1, 4});
  const Choices before;
  ASSERT_TRUE(session->run(std::vector{five, five}).ok());
  ASSERT_TRUE(session->run(std::vector{five, one}).ok());
  ASSERT_TRUE(session->run(std::vector{five, five}).ok());  // from the cache
  const Choices after;
  EXPECT_EQ(after.fused - before.fused, 2);
  EXPECT_EQ(after.split - before.split, 1);
}

TEST(Speculation, SizesThatDoNotBroadcastAreAnError) {
  const auto session = compile(kSums);
  const auto got = session->run(std::vector{Tensor::zeros(DType::kF32, {5, 4}), Tensor::zeros(DType::kF32, {3, 4})});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::kShapeMismatch);
}

TEST(Speculation, AValueReadBehindEitherForm) {
  const std::string_view text = R"(
    x: f32[B, 8]
    y: f32[C, 8]
    w: f32[8, 8]
    a = exp(x)
    c = add(a, y)
    m = matmul(a, w)
    k = matmul(c, w)
    r = reduce_sum(c) axes=[1] keepdim=0
    return m, k, r
  )";
  const std::vector<std::int64_t> three{3, 8}, one{1, 8}, w{8, 8};
  testing::expect_oracle(text, {{three, three, w}, {three, one, w}, {one, three, w}, {three, three, w}}, 1e-3);
}

TEST(Speculation, ExplainShowsBothFormsAndCountsTheChosen) {
  const auto session = compile(kSums);
  const auto equal = explain(*session, std::vector<Sizes>{{5, 16}, {5, 16}});
  const auto split = explain(*session, std::vector<Sizes>{{5, 16}, {1, 16}});
  ASSERT_TRUE(equal.ok() && split.ok());
  EXPECT_EQ(equal->speculations, 1u);
  EXPECT_EQ(equal->bytes_fused, 4 * (2 * 5 * 16 + 2 * 5));
  EXPECT_GT(split->bytes_fused, 4 * (5 * 16 + 16 + 2 * 5));
  EXPECT_NE(to_string(*equal).find("if C = B, B = broadcast(B, C)"), std::string::npos) << to_string(*equal);
}

}  // namespace
}  // namespace tilewright::runtime
