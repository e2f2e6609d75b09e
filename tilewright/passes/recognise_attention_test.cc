// Attention as exporters write it, near misses that must stay, and equal results of both forms.
#include <cmath>
#include <limits>

#include "tilewright/graph/eval/eval.h"
#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

constexpr std::string_view kInputs = R"(
  q: f32[B, 4, S, 8]
  k: f32[B, 4, T, 8]
  v: f32[B, 4, T, 16]
  m: f32[B, 1, S, T]
  c: bool[S, T]
)";
constexpr std::string_view kValues = R"(
  zero = scalar() dtype=f32 value=0.0
  low = scalar() dtype=f32 value=-1.7014118346046923e+38
  half = scalar() dtype=f32 value=0.5
  eight = scalar() dtype=f32 value=8
  t = transpose(k) perm=[0,1,3,2]
)";

void pass(Graph& graph) {
  recognise_attention(graph);
  remove_dead_nodes(graph);
}
void becomes(std::string_view body, std::string_view attention) {
  expect_pass(pass, fmt::format("{}{}{} return y", kInputs, kValues, body),
              fmt::format("{}{} return y", kInputs, attention));
}
void stays(std::string_view body, std::string_view results = "y") {
  const std::string text = fmt::format("{}{}{} return {}", kInputs, kValues, body, results);
  const std::unique_ptr<Graph> graph = parse_or_die(text);
  EXPECT_FALSE(recognise_attention(*graph)) << print(*graph);
}

TEST(RecogniseAttention, Plain) {
  becomes("a = matmul(q, t) p = softmax(a) axis=3 y = matmul(p, v)", "y = attention(q, k, v) scale=1.0 empty_is_nan=1");
}
TEST(RecogniseAttention, ScaleOnTheScoresAndAMask) {
  becomes("a = matmul(q, t) s = div(a, eight) n = add(s, m) p = softmax(n) axis=3 y = matmul(p, v)",
          "y = attention(q, k, v, m) scale=0.125 empty_is_nan=1");
}
TEST(RecogniseAttention, ScaleOnBothOperandsAndAGuard) {
  becomes(R"(h = mul(q, half) g = mul(t, half) a = matmul(h, g) n = add(m, a) p = softmax(n) axis=3
             e = is_nan(p) r = select(e, zero, p) y = matmul(r, v))",
          "y = attention(q, k, v, m) scale=0.25");
}
TEST(RecogniseAttention, AConditionHidesScores) {
  becomes("a = matmul(q, t) s = mul(half, a) n = select(c, s, low) p = softmax(n) axis=3 y = matmul(p, v)",
          "zero = scalar() dtype=f32 value=0.0 low = scalar() dtype=f32 value=-1.7014118346046923e+38 w = select(c, "
          "zero, low) y = attention(q, k, v, w) scale=0.5 empty_is_nan=1");
  becomes("a = matmul(q, t) n = select(c, low, a) d = add(n, m) p = softmax(d) axis=3 y = matmul(p, v)",
          "zero = scalar() dtype=f32 value=0.0 low = scalar() dtype=f32 value=-1.7014118346046923e+38 w = select(c, "
          "low, zero) x = add(m, w) y = attention(q, k, v, x) scale=1.0 empty_is_nan=1");
}
TEST(RecogniseAttention, KeysTurnedBetweenReshapes) {
  becomes(R"(j = reshape(k) shape=[4*B, T, 8] u = transpose(j) perm=[0,2,1] g = reshape(u) shape=[B, 4, 8, T]
             a = matmul(q, g) p = softmax(a) axis=3 y = matmul(p, v))",
          "y = attention(q, k, v) scale=1.0 empty_is_nan=1");
}
TEST(RecogniseAttention, KeysThatCameTurned) {
  expect_pass(pass,
              R"(q: f32[B, 4, S, 8] t: f32[B, 4, 8, T] v: f32[B, 4, T, 16]
         a = matmul(q, t) p = softmax(a) axis=3 y = matmul(p, v) return y)",
              R"(q: f32[B, 4, S, 8] t: f32[B, 4, 8, T] v: f32[B, 4, T, 16]
         k = transpose(t) perm=[0,1,3,2] y = attention(q, k, v) scale=1.0 empty_is_nan=1 return y)");
}
TEST(RecogniseAttention, OneHeadOfRankThree) {
  expect_pass(pass,
              R"(q: f32[N, S, 8] k: f32[N, T, 8] v: f32[N, T, 16] m: f32[N, 1, T]
                 t = transpose(k) perm=[0,2,1] a = matmul(q, t) n = add(a, m) p = softmax(n) axis=2 y = matmul(p, v)
                 return y)",
              R"(q: f32[N, S, 8] k: f32[N, T, 8] v: f32[N, T, 16] m: f32[N, 1, T]
                 b = reshape(q) shape=[N, 1, S, 8] d = reshape(k) shape=[N, 1, T, 8] e = reshape(v) shape=[N, 1, T, 16]
                 f = reshape(m) shape=[N, 1, 1, T] o = attention(b, d, e, f) scale=1.0 empty_is_nan=1
                 y = reshape(o) shape=[N, S, 16] return y)");
}
TEST(RecogniseAttention, ProductsOfRankThreeAroundAMaskOfRankFour) {
  becomes(R"(q3 = reshape(q) shape=[4*B, S, 8] k3 = reshape(k) shape=[4*B, T, 8] v3 = reshape(v) shape=[4*B, T, 16]
             u = transpose(k3) perm=[0,2,1] a = matmul(q3, u) a4 = reshape(a) shape=[B, 4, S, T] n = add(a4, m)
             n3 = reshape(n) shape=[4*B, S, T] p = softmax(n3) axis=2 y = matmul(p, v3))",
          "o = attention(q, k, v, m) scale=1.0 empty_is_nan=1 y = reshape(o) shape=[4*B, S, 16]");
}
TEST(RecogniseAttention, KeysAndValuesRepeatedForGroups) {
  constexpr std::string_view kGrouped = "q: f32[B, 6, S, 8] k: f32[B, 2, T, 8] v: f32[B, 2, T, 8] ";
  expect_pass(pass,
              std::string(kGrouped) + R"(k5 = reshape(k) shape=[B, 2, 1, T, 8] ke = expand(k5) shape=[B, 2, 3, T, 8]
                 kr = reshape(ke) shape=[B, 6, T, 8] v5 = reshape(v) shape=[B, 2, 1, T, 8]
                 ve = expand(v5) shape=[B, 2, 3, T, 8] vr = reshape(ve) shape=[B, 6, T, 8]
                 t = transpose(kr) perm=[0,1,3,2] a = matmul(q, t) p = softmax(a) axis=3 y = matmul(p, vr) return y)",
              std::string(kGrouped) + "y = attention(q, k, v) scale=1.0 empty_is_nan=1 return y");
}

TEST(RecogniseAttention, WeightsThatOthersReadStay) {
  stays("a = matmul(q, t) p = softmax(a) axis=3 y = matmul(p, v)", "y, p");
}
TEST(RecogniseAttention, ScoresThatOthersReadStay) {
  stays("a = matmul(q, t) p = softmax(a) axis=3 y = matmul(p, v)", "y, a");
}
TEST(RecogniseAttention, ASoftmaxOverQueriesStays) {
  stays("a = matmul(q, t) p = softmax(a) axis=2 y = matmul(p, v)");
}
TEST(RecogniseAttention, AMaskBelowTheScaleStays) {
  stays("a = matmul(q, t) n = add(a, m) s = mul(n, half) p = softmax(s) axis=3 y = matmul(p, v)");
}
TEST(RecogniseAttention, AConditionThatDoesNotHideStays) {
  stays("a = matmul(q, t) n = select(c, a, half) p = softmax(n) axis=3 y = matmul(p, v)");
}

// Both forms of the same graph, also where a row sees nothing.
TEST(RecogniseAttention, GivesWhatThePrimitivesGive) {
  for (const std::string_view end : {"e = is_nan(p) r = select(e, zero, p) y = matmul(r, v)", "y = matmul(p, v)"}) {
    const std::string text =
        fmt::format("{}{} a = matmul(q, t) s = mul(a, half) n = add(s, m) p = softmax(n) axis=3 {} return y", kInputs,
                    kValues, end);
    const std::unique_ptr<Graph> primitives = parse_or_die(text), whole = parse_or_die(text);
    ASSERT_TRUE(recognise_attention(*whole)) << print(*whole);
    std::vector<Tensor> inputs;
    for (const Ints& sizes : {Ints{2, 4, 3, 8}, Ints{2, 4, 5, 8}, Ints{2, 4, 5, 16}, Ints{2, 1, 3, 5}}) {
      Tensor tensor(DType::kF32, sizes);
      for (std::int64_t i = 0; i < tensor.count(); ++i)
        tensor.data_as<float>()[i] = static_cast<float>((i * 37 + 11) % 29) / 29.0f - 0.5f;
      inputs.push_back(std::move(tensor));
    }
    for (std::int64_t i = 5; i < 10; ++i) inputs[3].data_as<float>()[i] = -std::numeric_limits<float>::infinity();
    Tensor condition(DType::kBool, Ints{3, 5});
    for (std::int64_t i = 0; i < 15; ++i) condition.data_as<bool>()[i] = true;
    inputs.push_back(std::move(condition));
    const Tensor expected = eval(*primitives, inputs).value().at(0);
    const Tensor found = eval(*whole, inputs).value().at(0);
    for (std::int64_t i = 0; i < expected.count(); ++i) {
      const float a = expected.data_as<float>()[i], b = found.data_as<float>()[i];
      EXPECT_TRUE(std::isnan(a) ? std::isnan(b) : std::fabs(a - b) < 1e-6) << i << ": " << a << ", " << b;
    }
  }
}

}  // namespace
}  // namespace tilewright::passes
