// Model files: what is written is what is read, and no damage is more than an error.
#include "tilewright/runtime/model_file.h"

#include <fstream>
#include <random>

#include "tilewright/base/fuzz_testing.h"
#include "tilewright/graph/testing.h"
#include "tilewright/runtime/model.h"
#include "tilewright/runtime/model_file_format.h"

namespace tilewright::runtime {
namespace {

using namespace model_format;

constexpr std::string_view kMlp = R"(
  graph mlp
  fact B in [1, 4096]
  x: f32[B, 8]
  weight w: f32[5, 8]
  weight b: f32[5]
  t = transpose(w) perm=[1,0]
  m = matmul(x, t)
  y = add(m, b)
  c = constant() value=f32[5]{1, 2, 3, 4, 5}
  z = mul(y, c)
  return z as result
)";

std::map<std::string, Tensor> mlp_weights() {
  std::vector<float> w(40);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 0.125f * static_cast<float>(i);
  const std::vector<float> b{1, -2, 3, -4, 5};
  return {{"w", Tensor::from<float>({5, 8}, w)}, {"b", Tensor::from<float>({5}, b)}};
}

std::vector<std::byte> encoded(std::string_view text, const std::map<std::string, Tensor>& weights,
                               const ModelExtras& extras = {}) {
  auto bytes = encode_model(*parse_or_die(text), weights, extras);
  TW_CHECK(bytes.ok(), "the model of a test can be saved");
  return std::move(*bytes);
}

std::vector<std::byte> sample() {
  return encoded(kMlp, mlp_weights(), {{{Dim(1), Dim::symbol("B")}}, {{"author", "a test"}, {"", ""}}});
}

// Makes the checksum of the head right again, so that the damage reaches the readers of the fields.
void seal(std::vector<std::byte>& bytes) {
  if (bytes.size() < kHeadStart) return;
  const std::uint64_t total = bytes.size();
  std::memcpy(&bytes[24], &total, sizeof total);
  const std::uint64_t head = read_u64(&bytes[16]);
  if (head < kHeadStart || head > total) return;
  const std::uint64_t sum = checksum(std::span<const std::byte>(bytes).subspan(kSumEnd, head - kSumEnd));
  std::memcpy(&bytes[8], &sum, sizeof sum);
}

std::string temporary(const char* name) {
  return ::testing::TempDir() + "/" + name + std::to_string(std::random_device()());
}

TEST(ModelFile, ReadsWhatWasWritten) {
  const auto contents = decode_model(sample());
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  EXPECT_EQ(print(*contents->graph), print(*parse_or_die(kMlp)));
  EXPECT_EQ(contents->metadata.at("author"), "a test");
  EXPECT_EQ(contents->output_strides, (std::vector<std::vector<Dim>>{{Dim(1), Dim::symbol("B")}}));
  ASSERT_EQ(contents->weights.size(), 2u);
  EXPECT_EQ(contents->weights.at("w").data_as<float>()[39], 0.125f * 39);
  EXPECT_EQ(contents->weights.at("b").data_as<float>()[3], -4);
}

TEST(ModelFile, IsTheSameWhenWrittenAgain) {
  const std::vector<std::byte> once = sample();
  const auto contents = decode_model(once);
  ASSERT_TRUE(contents.ok());
  const auto again = encode_model(*contents->graph, contents->weights, {contents->output_strides, contents->metadata});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, once);
}

TEST(ModelFile, LongConstantsLieOutsideTheText) {
  auto graph = parse_or_die("x: f32[N]\nreturn x");
  Tensor value = Tensor::zeros(DType::kF32, {300});
  value.data_as<float>()[299] = 7;
  const NodeId node = graph->add_node(Op::kConstant, {}, {{"value", value}}, {{DType::kF32, {Dim(300)}}});
  graph->set_outputs({graph->node(node).outputs[0]}, {"c"});
  const auto bytes = encode_model(*graph, {}, {});
  ASSERT_TRUE(bytes.ok());
  EXPECT_LT(bytes->size(), 1200u + 300);
  const auto contents = decode_model(*bytes);
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  EXPECT_EQ(print(*contents->graph), print(*graph));
}

TEST(ModelFile, WeightsOfAMappedFileAreUsedInPlace) {
  const std::string path = temporary("mapped");
  ASSERT_TRUE(save_model(*parse_or_die(kMlp), mlp_weights(), {}, path).ok());
  const auto contents = read_model(path);
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  EXPECT_NE(contents->weights.at("w").owner(), nullptr);
  EXPECT_EQ(contents->weights.at("w").owner(), contents->weights.at("b").owner());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(contents->weights.at("b").data()) % kAlignment, 0u);
  std::remove(path.c_str());
}

TEST(ModelFile, StridedWeightsAreStoredRowMajor) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor base = Tensor::from<float>({2, 3}, values);
  const Tensor turned(DType::kF32, {3, 2}, {1, 3}, base.data());
  const auto contents = decode_model(encoded("weight w: f32[3, 2]\ny = neg(w)\nreturn y", {{"w", turned}}));
  ASSERT_TRUE(contents.ok());
  EXPECT_EQ(contents->weights.at("w").data_as<float>()[1], 4);
}

TEST(ModelFile, EmptyWeightsAndScalarsAreFine) {
  const auto contents =
      decode_model(encoded("weight e: f32[0, 3]\nweight s: i64[]\nreturn e, s",
                           {{"e", Tensor(DType::kF32, {0, 3})}, {"s", Tensor::scalar<std::int64_t>(-3)}}));
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  EXPECT_EQ(contents->weights.at("s").data_as<std::int64_t>()[0], -3);
}

void expect_refused(std::string_view text, const std::map<std::string, Tensor>& weights, std::string_view message) {
  const auto bytes = encode_model(*parse_or_die(text), weights, {});
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().message, message);
}

TEST(ModelFileErrors, AWeightWithoutAValue) {
  expect_refused("weight w: f32[2]\nreturn w", {}, "weight 'w' has no value");
}

TEST(ModelFileErrors, AValueWithoutAnInput) {
  expect_refused("x: f32[2]\nreturn x", {{"w", Tensor(DType::kF32, {2})}}, "the graph has no input 'w'");
}

TEST(ModelFileErrors, AValueOfAnotherSize) {
  expect_refused("weight w: f32[N, 2]\nreturn w", {{"w", Tensor(DType::kF32, {2, 3})}},
                 "weight 'w': expected f32[N, 2], got f32[2, 3]");
}

TEST(ModelFileErrors, ACallOfTheHost) {
  expect_refused("x: f32[2]\ny: f32[2] = host_call(x) target=1\nreturn y", {},
                 "'y' is a call of the host, which a file cannot hold");
}

TEST(ModelFileErrors, AFusedArea) {
  expect_refused("x: f32[2]\ny = fused(x) kind=map {\n a: f32[2]\n b = exp(a)\n return b\n}\nreturn y", {},
                 "'y' is a fused area: a file holds the graph before the passes");
}

TEST(ModelFileErrors, AFileThatIsNotThere) {
  const auto contents = read_model("/nowhere/model");
  ASSERT_FALSE(contents.ok());
  EXPECT_EQ(contents.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(contents.error().message, "/nowhere/model: cannot read: No such file or directory");
}

TEST(ModelFileErrors, AnotherVersion) {
  std::vector<std::byte> bytes = sample();
  bytes[4] = std::byte{9};
  const auto contents = decode_model(bytes);
  ASSERT_FALSE(contents.ok());
  EXPECT_EQ(contents.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(contents.error().message, "model file of version 9, known is 1");
}

TEST(ModelFileErrors, ADamagedWeightIsNamed) {
  std::vector<std::byte> bytes = sample();
  bytes[bytes.size() - 1] ^= std::byte{1};
  const auto contents = decode_model(bytes);
  ASSERT_FALSE(contents.ok());
  EXPECT_EQ(contents.error().message, "tensor 1 'b': the checksum differs");
}

TEST(ModelFileErrors, EveryTruncationIsCorrupt) {
  const std::vector<std::byte> bytes = sample();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto contents = decode_model(std::span(bytes).first(size));
    ASSERT_FALSE(contents.ok()) << size;
    ASSERT_EQ(contents.error().kind, ErrorKind::kCorrupt) << size;
  }
}

TEST(ModelFileErrors, EveryFlippedBitIsNoticed) {
  const std::vector<std::byte> bytes = sample();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::vector<std::byte> damaged = bytes;
    damaged[bit / 8] ^= std::byte(1 << bit % 8);
    ASSERT_FALSE(decode_model(damaged).ok()) << bit;
  }
}

TEST(ModelFileErrors, AbsurdNumbersTakeNoMemory) {
  const std::vector<std::byte> bytes = sample();
  for (std::size_t at = 16; at + 8 <= bytes.size(); at += 8) {
    for (const std::uint64_t value : {~std::uint64_t{0}, std::uint64_t{1} << 40, std::uint64_t{INT64_MAX}}) {
      std::vector<std::byte> damaged = bytes;
      std::memcpy(&damaged[at], &value, sizeof value);
      seal(damaged);
      const auto contents = decode_model(damaged);
      if (contents.ok()) continue;  // a piece of a name
      const ErrorKind kind = contents.error().kind;
      ASSERT_TRUE(kind == ErrorKind::kCorrupt || kind == ErrorKind::kParse) << at << ": " << contents.error().message;
    }
  }
}

TEST(ModelFileFuzz, DamageBehindARightChecksumIsAnErrorOrAModel) {
  const std::vector<std::byte> bytes = sample();
  std::uint64_t read = 0;
  tilewright::testing::FuzzRun run;
  while (run.next()) {
    std::vector<std::byte> damaged = bytes;
    damage(damaged, run);
    if (run.below(8) != 0) seal(damaged);
    auto contents = decode_model(damaged, nullptr, {run.below(2) == 0});
    if (!contents.ok()) {
      const ErrorKind kind = contents.error().kind;
      ASSERT_FALSE(contents.error().message.empty());
      ASSERT_TRUE(kind == ErrorKind::kCorrupt || kind == ErrorKind::kParse || kind == ErrorKind::kUnsupported)
          << contents.error().message;
      continue;
    }
    ++read;
    if (run.below(8) == 0) (void)Model::create(std::move(*contents)).ok();  // compiles, or is an error
  }
  EXPECT_GT(read, run.rounds() / 100);
}

}  // namespace
}  // namespace tilewright::runtime
