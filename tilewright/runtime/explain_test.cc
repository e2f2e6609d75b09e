// What explain, plan_text and encode say of small graphs.
#include "tilewright/runtime/explain.h"

#include "tilewright/graph/testing.h"
#include "tilewright/runtime/plan_text.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::runtime {
namespace {

constexpr std::string_view kMlp = R"(
  x: f32[B, 8]
  weight w: f32[5, 8]
  b: f32[5]
  t = transpose(w) perm=[1,0]
  m = matmul(x, t)
  y = add(m, b)
  z = relu(y)
  return z
)";

// On one level, so that panels and with them the texts are the same everywhere.
std::unique_ptr<Session> compile(std::string_view text) {
  static const auto machine = vm::make_cpu_machine({"portable"});
  SessionOptions options;
  options.machine = machine->get();
  auto session = Session::compile(parse_or_die(text), options);
  if (!session.ok()) ADD_FAILURE() << session.error().message;
  TW_CHECK(session.ok(), "the graph of a test compiles");
  return std::move(*session);
}

TEST(Explain, ListsWhatIsFused) {
  const auto explanation = explain(*compile(kMlp));
  ASSERT_TRUE(explanation.ok());
  EXPECT_EQ(explanation->nodes_before, 4u);
  ASSERT_EQ(explanation->kernels.size(), 1u);
  EXPECT_EQ(explanation->kernels[0].kind, "matmul");
  EXPECT_EQ(explanation->kernels[0].ops.front(), "matmul");
  EXPECT_GE(explanation->kernels[0].ops.size(), 3u);
  EXPECT_TRUE(explanation->kernels[0].packed);
  EXPECT_EQ(explanation->programs, 1u);
  EXPECT_EQ(explanation->packed_weights, std::vector<std::string>{"w: f32[8, 5]"});
  EXPECT_FALSE(explanation->passes.empty());
}

TEST(Explain, NamesRefusedMergesWithTheReason) {
  const auto explanation = explain(*compile("x: f32[A, B]\nm: f32[B]\na = exp(m)\ny = add(x, a)\nreturn y"));
  ASSERT_TRUE(explanation.ok());
  EXPECT_EQ(explanation->kernels.size(), 2u);
  ASSERT_EQ(explanation->refused.size(), 1u);
  EXPECT_NE(to_string(*explanation).find("not fused: 'a' into 'y': too costly to compute again for each row"),
            std::string::npos);
}

TEST(Explain, CountsBytesForGivenSizes) {
  const auto explanation = explain(*compile(kMlp), std::vector<Sizes>{{10, 8}, {5, 8}, {5}});
  ASSERT_TRUE(explanation.ok());
  const std::int64_t x = 10 * 8 * 4, w = 5 * 8 * 4, b = 5 * 4, y = 10 * 5 * 4;
  EXPECT_EQ(explanation->bytes_unfused, (x + w + y) + (y + b + y) + (y + y));
  EXPECT_EQ(explanation->bytes_fused, x + w + b + y);
  EXPECT_NE(to_string(*explanation).find("bytes moved: "), std::string::npos);
}

TEST(Explain, NamesFallbacksAndTheirReason) {
  const auto explanation = explain(*compile("x: f32[N]\ny: f32[N] = host_call(x) target=7\nz = neg(y)\nreturn z"));
  ASSERT_TRUE(explanation.ok());
  ASSERT_EQ(explanation->fallbacks.size(), 1u);
  EXPECT_NE(to_string(*explanation).find("fallback 'y': no lowering, call 7 of the host"), std::string::npos);
}

TEST(Explain, ShowsControlFlowWithItsRegions) {
  const auto explanation = explain(*compile(R"(
    x: f32[N]
    z = scalar() dtype=f32 value=0
    s = reduce_sum(x) axes=[0]
    c = gt(s, z)
    y = if(c) late=[u0] {
      capture a = x
      e = exp(a)
      return e
    } {
      capture a = x
      t = slice(a) start=[0] stop=[N//2] step=[1]
      return t
    }
    return y
  )"));
  ASSERT_TRUE(explanation.ok());
  ASSERT_EQ(explanation->host_steps.size(), 1u);
  EXPECT_EQ(explanation->host_steps[0].kind, "if");
  ASSERT_EQ(explanation->host_steps[0].regions.size(), 2u);
  EXPECT_EQ(explanation->host_steps[0].regions[0].kernels.size(), 1u);
  EXPECT_EQ(explanation->late_symbols, std::vector<std::string>{"u0"});
}

TEST(Explain, RefusesSizesOfAnotherRank) {
  const auto explanation = explain(*compile(kMlp), std::vector<Sizes>{{10}, {5, 8}, {5}});
  ASSERT_FALSE(explanation.ok());
  EXPECT_EQ(explanation.error().message, "input 'x': expected 2 axes (f32[B, 8]), got 1");
}

TEST(PlanText, ShowsSegmentsAndSteps) {
  const std::string text =
      plan_text(compile("x: f32[N]\ny = exp(x)\nz: f32[N] = host_call(y) target=3\nw = neg(z)\nreturn w")->plan());
  EXPECT_NE(text.find("input x: f32[N] in buffer 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("segment 0\n  map {exp}"), std::string::npos) << text;
  EXPECT_NE(text.find("\nhost call {host_call} ("), std::string::npos) << text;
  EXPECT_NE(text.find("segment 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\noutput w"), std::string::npos) << text;
}

TEST(Encode, GivesTheProgramWithoutRunningIt) {
  const auto session = compile(kMlp);
  const auto programs = session->encode(std::vector<Sizes>{{10, 8}, {5, 8}, {5}});
  ASSERT_TRUE(programs.ok()) << programs.error().message;
  ASSERT_EQ(programs->size(), 1u);
  EXPECT_TRUE(isa::verify_program(programs->front()).ok());
  EXPECT_NE(isa::disassemble(programs->front()).find("matmul"), std::string::npos);
}

TEST(Encode, IsWhatACallRuns) {
  const auto session = compile(kMlp);
  const auto before = session->encode(std::vector<Sizes>{{3, 8}, {5, 8}, {5}});
  ASSERT_TRUE(before.ok());
  const std::vector inputs{Tensor::zeros(DType::kF32, {3, 8}), Tensor::zeros(DType::kF32, {5, 8}),
                           Tensor::zeros(DType::kF32, {5})};
  const auto got = session->run(inputs);
  ASSERT_TRUE(got.ok()) << got.error().message;
  const auto after = compile(kMlp)->encode(std::vector<Sizes>{{3, 8}, {5, 8}, {5}});
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(before->front().words, after->front().words);
}

TEST(Encode, RefusesWhatACallWouldRefuse) {
  const auto programs = compile(kMlp)->encode(std::vector<Sizes>{{10, 9}, {5, 8}, {5}});
  ASSERT_FALSE(programs.ok());
  EXPECT_EQ(programs.error().message, "input 'x', axis 1: expected 8, got 9");
}

}  // namespace
}  // namespace tilewright::runtime
