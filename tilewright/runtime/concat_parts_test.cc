// Pieces of a concat that are computed where they belong.
#include <gtest/gtest.h>

#include "tilewright/graph/testing.h"
#include "tilewright/runtime/oracle_testing.h"
#include "tilewright/runtime/session.h"

namespace tilewright::runtime {
namespace {

// The instructions of a call for inputs of these sizes.
std::size_t instructions(std::string_view text, const std::vector<std::vector<std::int64_t>>& sizes) {
  auto session = Session::compile(parse_or_die(text));
  TW_CHECK(session.ok(), "the graph compiles");
  const auto programs = (*session)->encode(sizes);
  TW_CHECK(programs.ok(), "the call is encoded");
  std::size_t count = 0;
  for (const isa::Program& program : *programs) {
    for (std::size_t at = 0; at < program.words.size(); at += isa::Inst(program.words.data() + at).num_words()) ++count;
  }
  return count;
}

// Rotated halves: one instruction for each half, none that joins them.
constexpr std::string_view kRotate = R"(
  x: f32[B, S, 512]
  c: f32[S, 512]
  s: f32[S, 512]
  a = slice(x) start=[0,0,0] stop=[B,S,256] step=[1,1,1]
  b = slice(x) start=[0,0,256] stop=[B,S,512] step=[1,1,1]
  n = neg(b)
  r = concat(n, a) axis=2
  p = mul(x, c)
  q = mul(r, s)
  y = add(p, q)
  return y
)";

TEST(ConcatParts, RotatedHalvesAreTwoInstructions) {
  EXPECT_EQ(instructions(kRotate, {{2, 5, 512}, {5, 512}, {5, 512}}), 2u);
  testing::expect_oracle(
      kRotate,
      {{{2, 5, 512}, {5, 512}, {5, 512}}, {{1, 1, 512}, {1, 512}, {1, 512}}, {{10, 20, 512}, {20, 512}, {20, 512}}},
      1e-5);
}

TEST(ConcatParts, PiecesThatANormReads) {
  const std::string_view text = R"(
    x: f32[B, 8]
    y: f32[C, 8]
    w: f32[8, 8]
    a = exp(x)
    m = matmul(y, w)
    j = concat(a, m) axis=0
    n = layer_norm(j) num_axes=1 eps=0.01
    return n
  )";
  EXPECT_EQ(instructions(text, {{3, 8}, {4, 8}, {8, 8}}), 3u);
  testing::expect_oracle(text, {{{3, 8}, {4, 8}, {8, 8}}, {{0, 8}, {4, 8}, {8, 8}}, {{700, 8}, {400, 8}, {8, 8}}},
                         1e-3);
}

TEST(ConcatParts, ThroughReshapes) {
  const std::string_view text = R"(
    x: f32[B, 8]
    y: f32[B, 8]
    a = exp(x)
    b = tanh(y)
    p = reshape(a) shape=[B,1,8]
    q = reshape(b) shape=[B,1,8]
    j = concat(p, q) axis=1
    s = reduce_sum(j) axes=[1] keepdim=1
    return j, s
  )";
  testing::expect_oracle(text, {{{3, 8}, {3, 8}}, {{1, 8}, {1, 8}}, {{0, 8}, {0, 8}}, {{300, 8}, {300, 8}}}, 1e-5);
}

TEST(ConcatParts, APieceThatIsReadTwice) {
  const std::string_view text = R"(
    x: f32[B, 8]
    a = exp(x)
    j = concat(a, a) axis=0
    k = concat(a, x) axis=1
    l = concat(j, j) axis=0
    return k, l, j
  )";
  testing::expect_oracle(text, {{{3, 8}}, {{1, 8}}, {{300, 8}}}, 1e-5);
}

TEST(ConcatParts, ConcatsOfConcats) {
  const std::string_view text = R"(
    x: f32[B, 20]
    y: f32[C, 40]
    a = exp(x)
    b = tanh(x)
    c = sigmoid(y)
    j = concat(a, b) axis=1
    k = concat(j, c) axis=0
    return k
  )";
  testing::expect_oracle(text, {{{3, 20}, {2, 40}}, {{1, 20}, {1, 40}}, {{300, 20}, {200, 40}}}, 1e-5);
}

}  // namespace
}  // namespace tilewright::runtime
