// What depends on weights alone is computed once and again when a weight has changed; results are those of the oracle.
#include "tilewright/runtime/model.h"
#include "tilewright/runtime/oracle_testing.h"
#include "tilewright/runtime/stats.h"

namespace tilewright::runtime::testing {
namespace {

constexpr std::string_view kWidened = R"(
    x: f32[B, 8]
    weight w: i8[8, 6]
    weight s: f32[6]
    a = cast(w) dtype=f32
    b = mul(a, s)
    y = matmul(x, b)
    return y)";

constexpr std::string_view kLoop = R"(
    h: f32[B, 4]
    x: f32[T, B, 4]
    weight w: f32[2, 4, 4]
    a = slice(w) start=[1,0,0] stop=[2,4,4] step=[1,1,1]
    b = reshape(a) shape=[4,4]
    c = transpose(b) perm=[1,0]
    last, all = scan(h, x) carried=1 trips=T {
      i: i64[]
      s: f32[B, 4]
      v: f32[B, 4]
      capture u = c
      q = neg(u)
      p = matmul(s, q)
      n = add(p, v)
      t = tanh(n)
      return t, t
    }
    return last, all)";

constexpr std::string_view kBranch = R"(
    c: bool[]
    x: f32[B, 4]
    y = if(c) {
      capture z = x
      w = constant() value=f32[4]{1, 2, 3, 4}
      v = exp(w)
      a = mul(z, v)
      return a
    } {
      capture z = x
      return z
    }
    return y)";

std::unique_ptr<Model> make(std::string_view text, std::map<std::string, Tensor> weights) {
  ModelContents contents;
  auto graph = parse_graph(text);
  contents.graph = std::move(*graph);
  contents.weights = std::move(weights);
  auto model = Model::create(std::move(contents));
  TW_CHECK(model.ok(), "the model of a test is right");
  return std::move(*model);
}

void expect_eval(Model& model, std::string_view text, const std::vector<Tensor>& all, std::size_t data) {
  const auto got = model.run({all.data(), data});
  ASSERT_TRUE(got.ok()) << got.error().message;
  const auto want = eval(**parse_graph(text), all);
  for (std::size_t i = 0; i < want->size(); ++i) expect_near((*got)[i], (*want)[i], 1e-5);
}

TEST(Prepared, ResultsAreThoseOfTheOracle) {
  expect_oracle(kWidened, {{{3, 8}, {8, 6}, {6}}, {{1, 8}, {8, 6}, {6}}, {{0, 8}, {8, 6}, {6}}}, 1e-5);
  expect_oracle(kLoop, {{{2, 4}, {5, 2, 4}, {2, 4, 4}}, {{1, 4}, {0, 1, 4}, {2, 4, 4}}}, 1e-5);
}

TEST(Prepared, OfABranchThatMayNotRun) {
  Tensor yes(DType::kBool, {}), no(DType::kBool, {});
  *yes.data_as<std::uint8_t>() = 1;
  *no.data_as<std::uint8_t>() = 0;
  const Tensor x = random_tensor(DType::kF32, {3, 4}, 1);
  expect_oracle_on(kBranch, {{no, x}, {yes, x}, {no, x}}, 1e-5);
}

TEST(Prepared, CallsDoNotRepeatIt) {
  const Tensor w = random_tensor(DType::kI8, {8, 6}, 1), s = random_tensor(DType::kF32, {6}, 2);
  const auto model = make(kWidened, {{"w", w}, {"s", s}});
  const auto x = [](std::int64_t rows) { return random_tensor(DType::kF32, {rows, 8}, 3); };
  expect_eval(*model, kWidened, {x(2), w, s}, 1);
  const std::int64_t launches = stats().launches, packed = stats().weights_packed;
  for (std::int64_t rows = 1; rows < 6; ++rows) expect_eval(*model, kWidened, {x(rows), w, s}, 1);
  EXPECT_EQ(stats().launches - launches, 5);
  EXPECT_EQ(stats().weights_packed, packed);
}

TEST(Prepared, AChangedWeightIsSeen) {
  const Tensor w = random_tensor(DType::kI8, {8, 6}, 1), s = random_tensor(DType::kF32, {6}, 2);
  const auto model = make(kWidened, {{"w", w}, {"s", s}});
  const Tensor x = random_tensor(DType::kF32, {2, 8}, 3);
  expect_eval(*model, kWidened, {x, w, s}, 1);
  const Tensor other = random_tensor(DType::kF32, {6}, 7);
  ASSERT_TRUE(model->set_weight("s", other).ok());
  expect_eval(*model, kWidened, {x, w, other}, 1);
  ASSERT_TRUE(model->set_weight("s", s).ok());
  expect_eval(*model, kWidened, {x, w, s}, 1);
}

TEST(Prepared, AChangedWeightIsSeenInALoop) {
  const Tensor w = random_tensor(DType::kF32, {2, 4, 4}, 1), other = random_tensor(DType::kF32, {2, 4, 4}, 9);
  const auto model = make(kLoop, {{"w", w}});
  const Tensor h = random_tensor(DType::kF32, {2, 4}, 2), x = random_tensor(DType::kF32, {5, 2, 4}, 3);
  expect_eval(*model, kLoop, {h, x, w}, 2);
  expect_eval(*model, kLoop, {h, x, w}, 2);
  ASSERT_TRUE(model->set_weight("w", other).ok());
  expect_eval(*model, kLoop, {h, x, other}, 2);
}

// Memory whose identity is not told may change behind the session's back.
TEST(Prepared, UnnamedWeightsAreReadInEachCall) {
  for (auto& machine : machines()) {
    const auto session = compile(kWidened, *machine);
    const Tensor x = random_tensor(DType::kF32, {2, 8}, 3), s = random_tensor(DType::kF32, {6}, 2);
    Tensor w = random_tensor(DType::kI8, {8, 6}, 1);
    for (int call = 0; call < 3; ++call) {
      w.data_as<std::int8_t>()[7] = static_cast<std::int8_t>(10 * call);
      const std::vector<Tensor> inputs{x, w, s};
      const auto got = session->run(inputs), want = eval(**parse_graph(kWidened), inputs);
      ASSERT_TRUE(got.ok()) << got.error().message;
      expect_near((*got)[0], (*want)[0], 1e-5);
    }
  }
}

TEST(Prepared, AWrongNumberOfInputsIsAnError) {
  const auto session = compile(kWidened, *machines().back());
  const auto got = session->run(std::vector<Tensor>{random_tensor(DType::kF32, {2, 8}, 3)});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message, "the model takes 3 inputs, 1 given");
}

TEST(Prepared, EncodingNeedsNoWeights) {
  const auto session = compile(kWidened, *machines().back());
  const std::vector<std::vector<std::int64_t>> sizes{{2, 8}, {8, 6}, {6}};
  const auto programs = session->encode(sizes);
  ASSERT_TRUE(programs.ok()) << programs.error().message;
  EXPECT_EQ(programs->size(), 1u);
}

}  // namespace
}  // namespace tilewright::runtime::testing
