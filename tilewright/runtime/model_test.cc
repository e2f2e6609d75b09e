// Models: sessions with weights of their own, replaced while they are in use.
#include "tilewright/runtime/model.h"

#include <random>
#include <thread>

#include "tilewright/graph/eval/eval.h"
#include "tilewright/graph/testing.h"
#include "tilewright/runtime/stats.h"

namespace tilewright::runtime {
namespace {

constexpr std::string_view kMlp = R"(
  x: f32[B, 8]
  weight w: f32[5, 8]
  weight b: f32[5]
  t = transpose(w) perm=[1,0]
  m = matmul(x, t)
  y = add(m, b)
  z = gelu(y)
  return z
)";

Tensor filled(std::vector<std::int64_t> sizes, float value) {
  Tensor out(DType::kF32, std::move(sizes));
  for (std::int64_t i = 0; i < out.count(); ++i) out.data_as<float>()[i] = value;
  return out;
}

Tensor random_tensor(std::vector<std::int64_t> sizes, std::uint32_t seed) {
  Tensor out(DType::kF32, std::move(sizes));
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  for (std::int64_t i = 0; i < out.count(); ++i) out.data_as<float>()[i] = real(engine);
  return out;
}

std::unique_ptr<Model> make_model(std::string_view text, std::map<std::string, Tensor> weights) {
  ModelContents contents;
  contents.graph = parse_or_die(text);
  contents.weights = std::move(weights);
  auto model = Model::create(std::move(contents));
  if (!model.ok()) ADD_FAILURE() << model.error().message;
  TW_CHECK(model.ok(), "the model of a test is right");
  return std::move(*model);
}

std::unique_ptr<Model> make_mlp() {
  return make_model(kMlp, {{"w", random_tensor({5, 8}, 1)}, {"b", random_tensor({5}, 2)}});
}

std::string error_of(Model& model, const std::vector<Tensor>& inputs) {
  const auto got = model.run(inputs);
  return got.ok() ? "" : got.error().message;
}

TEST(Model, ACallBringsOnlyData) {
  const auto model = make_mlp();
  const Tensor x = random_tensor({3, 8}, 3);
  const auto got = model->run(std::vector{x});
  ASSERT_TRUE(got.ok()) << got.error().message;
  const auto want = eval(*parse_or_die(kMlp), std::vector{x, random_tensor({5, 8}, 1), random_tensor({5}, 2)});
  ASSERT_TRUE(want.ok());
  for (std::int64_t i = 0; i < 15; ++i)
    EXPECT_NEAR((*got)[0].data_as<float>()[i], (*want)[0].data_as<float>()[i], 1e-5);
}

TEST(Model, AFileRunsLikeTheModelThatWasSaved) {
  const auto model = make_mlp();
  const std::string path = testing::TempDir() + "/model_test.tilewright";
  ASSERT_TRUE(model->save(path).ok());
  auto loaded = Model::load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  std::remove(path.c_str());
  for (const std::int64_t batch : {0, 1, 3, 40}) {
    const std::vector inputs{random_tensor({batch, 8}, 4)};
    const auto want = model->run(inputs);
    const auto got = (*loaded)->run(inputs);
    ASSERT_TRUE(want.ok() && got.ok());
    EXPECT_EQ(std::memcmp((*got)[0].data(), (*want)[0].data(), static_cast<std::size_t>((*want)[0].bytes())), 0);
  }
}

TEST(Model, WeightsArePackedOnce) {
  const auto model = make_mlp();
  const std::int64_t before = stats().weights_packed;
  for (const std::int64_t batch : {1, 2, 3, 4, 5})
    ASSERT_TRUE(model->run(std::vector{random_tensor({batch, 8}, 5)}).ok());
  EXPECT_EQ(stats().weights_packed - before, 1);
}

TEST(Model, AWeightThatALoopCapturesIsPackedOnce) {
  const auto model = make_model(R"(
    h: f32[B, 4]
    x: f32[T, B, 4]
    weight w: f32[4, 4]
    last, all = scan(h, x) carried=1 trips=T {
      i: i64[]
      s: f32[B, 4]
      v: f32[B, 4]
      capture u = w
      p = matmul(s, u)
      n = add(p, v)
      return n, n
    }
    return last
  )",
                                {{"w", filled({4, 4}, 1)}});
  const std::int64_t before = stats().weights_packed;
  const std::vector inputs{filled({2, 4}, 1), filled({3, 2, 4}, 1)};
  for (int i = 0; i < 3; ++i) {
    const auto got = model->run(inputs);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ((*got)[0].data_as<float>()[0], 85);  // 1, 5, 21, 85
  }
  EXPECT_EQ(stats().weights_packed - before, 1);
  ASSERT_TRUE(model->set_weight("w", filled({4, 4}, 0)).ok());
  const auto replaced = model->run(inputs);
  ASSERT_TRUE(replaced.ok());
  EXPECT_EQ((*replaced)[0].data_as<float>()[0], 1);
}

TEST(Model, ThePagesOfAPackedWeightAreReadAgainWhenNeeded) {
  const std::string path = testing::TempDir() + "/model_pages.tilewright";
  const auto graph = parse_or_die("x: f32[B, 300]\nweight w: f32[300, 200]\ny = matmul(x, w)\nreturn y");
  const Tensor w = random_tensor({300, 200}, 1);
  ASSERT_TRUE(save_model(*graph, {{"w", w}}, {}, path).ok());
  auto model = Model::load(path);
  ASSERT_TRUE(model.ok());
  std::remove(path.c_str());
  const std::vector inputs{random_tensor({2, 300}, 6)};
  const auto before = (*model)->run(inputs);
  (*model)->trim();
  const auto after = (*model)->run(inputs);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(std::memcmp((*before)[0].data(), (*after)[0].data(), static_cast<std::size_t>((*after)[0].bytes())), 0);
  EXPECT_EQ(std::memcmp((*model)->weight("w")->data(), w.data(), static_cast<std::size_t>(w.bytes())), 0);
}

TEST(Model, LaterCallsSeeANewWeight) {
  const auto model = make_mlp();
  const std::vector inputs{random_tensor({2, 8}, 6)};
  ASSERT_TRUE(model->run(inputs).ok());
  ASSERT_TRUE(model->set_weights({{"w", filled({5, 8}, 0)}, {"b", filled({5}, 10)}}).ok());
  const auto got = model->run(inputs);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ((*got)[0].data_as<float>()[9], 10);
  EXPECT_EQ(model->weight("b")->data_as<float>()[0], 10);
}

TEST(Model, ReplacedWeightsAreNotKept) {
  const auto model = make_mlp();
  const std::vector inputs{random_tensor({2, 8}, 6)};
  ASSERT_TRUE(model->run(inputs).ok());
  const std::int64_t before = stats().packed_bytes;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(model->set_weight("w", random_tensor({5, 8}, 7)).ok());
    ASSERT_TRUE(model->run(inputs).ok());
  }
  EXPECT_EQ(stats().packed_bytes, before);
}

TEST(Model, ACallSeesWeightsOfOneMoment) {
  const auto model = make_model("x: f32[N]\nweight a: f32[1]\nweight b: f32[1]\nc = sub(a, b)\ny = add(x, c)\nreturn y",
                                {{"a", filled({1}, 0)}, {"b", filled({1}, 0)}});
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 1; i <= 300; ++i) {
      const auto value = static_cast<float>(i);
      ASSERT_TRUE(model->set_weights({{"a", filled({1}, value)}, {"b", filled({1}, value)}}).ok());
    }
    done = true;
  });
  const std::vector inputs{filled({7}, 3)};
  do {
    const auto got = model->run(inputs);
    ASSERT_TRUE(got.ok());
    ASSERT_EQ((*got)[0].data_as<float>()[6], 3);
  } while (!done);
  writer.join();
}

TEST(Model, ABufferThatTheGraphWritesKeepsItsState) {
  const auto model =
      make_model("x: f32[2]\nweight s: f32[2]\nn = add(s, x)\nassign(s, n)\nreturn n", {{"s", filled({2}, 1)}});
  const std::vector inputs{filled({2}, 10)};
  ASSERT_TRUE(model->run(inputs).ok());
  const auto got = model->run(inputs);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ((*got)[0].data_as<float>()[0], 21);
  EXPECT_EQ(model->weight("s")->data_as<float>()[1], 21);
}

TEST(ModelErrors, NameTheInputs) {
  const auto model = make_mlp();
  EXPECT_EQ(error_of(*model, {}), "the model takes 1 inputs ('x'), 0 given");
  EXPECT_EQ(error_of(*model, {filled({2, 8}, 0), filled({5, 8}, 0)}), "the model takes 1 inputs ('x'), 2 given");
}

TEST(ModelErrors, NameTheAxis) {
  const auto model = make_mlp();
  EXPECT_EQ(error_of(*model, {filled({2, 9}, 0)}), "input 'x', axis 1: expected 8, got 9");
}

TEST(ModelErrors, NameTheRank) {
  const auto model = make_mlp();
  EXPECT_EQ(error_of(*model, {filled({8}, 0)}), "input 'x': expected 2 axes (f32[B, 8]), got 1");
}

TEST(ModelErrors, NameTheDType) {
  const auto model = make_mlp();
  EXPECT_EQ(error_of(*model, {Tensor::zeros(DType::kF64, {2, 8})}), "input 'x': expected f32, got f64");
}

TEST(ModelErrors, TooManyAxes) {
  const auto model = make_mlp();
  EXPECT_EQ(error_of(*model, {filled(std::vector<std::int64_t>(13, 1), 0)}),
            "input 0 has 13 axes, at most 12 are possible");
}

TEST(ModelErrors, LeaveTheModelUsable) {
  const auto model = make_mlp();
  const std::vector good{random_tensor({2, 8}, 8)};
  const auto before = model->run(good);
  ASSERT_FALSE(error_of(*model, {}).empty());
  ASSERT_FALSE(error_of(*model, {filled({2, 9}, 0)}).empty());
  const auto after = model->run(good);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(std::memcmp((*before)[0].data(), (*after)[0].data(), static_cast<std::size_t>((*after)[0].bytes())), 0);
}

TEST(ModelErrors, WeightsThatDoNotFit) {
  const auto model = make_mlp();
  EXPECT_EQ(model->set_weight("w", filled({8, 5}, 0)).error().message, "weight 'w': expected f32[5, 8], got f32[8, 5]");
  EXPECT_EQ(model->set_weight("x", filled({8, 5}, 0)).error().message, "the model has no weight 'x'");
}

TEST(ModelErrors, OneBadWeightChangesNone) {
  const auto model = make_mlp();
  ASSERT_FALSE(model->set_weights({{"b", filled({5}, 9)}, {"w", filled({1}, 0)}}).ok());
  EXPECT_NE(model->weight("b")->data_as<float>()[0], 9);
}

TEST(ModelErrors, ADamagedFileNamesItsPath) {
  const std::string path = testing::TempDir() + "/damaged.tilewright";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs("TWM1 but nothing else", file);
  std::fclose(file);
  const auto model = Model::load(path);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(model.error().message, path + ": 21 bytes, a model file has more");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tilewright::runtime
