// The C and C++ interfaces over one small model file.
#include "tilewright/runtime/c_api.h"

#include <gtest/gtest.h>

#include "tilewright/graph/testing.h"
#include "tilewright/runtime/model_file.h"
#include "tilewright/tilewright.h"

namespace tilewright {
namespace {

std::vector<std::byte> model_bytes() {
  const auto graph = parse_or_die(R"(
    scalar %scale
    x: f32[B, 3]
    weight w: f32[3]
    s = scalar() dtype=f32 value=%scale
    a = mul(x, w)
    y = mul(a, s)
    return y as scaled
  )");
  const std::vector<float> w{1, 2, 3};
  auto bytes = runtime::encode_model(*graph, {{"w", Tensor::from<float>({3}, w)}}, {{}, {{"origin", "test"}}});
  TW_CHECK(bytes.ok(), "the model of a test can be saved");
  return std::move(*bytes);
}

Tensor ones(std::vector<std::int64_t> sizes) {
  Tensor out(DType::kF32, std::move(sizes));
  for (std::int64_t i = 0; i < out.count(); ++i) out.data_as<float>()[i] = 1;
  return out;
}

tw_tensor view_of(const Tensor& tensor) {
  tw_tensor out{};
  out.dtype = static_cast<int>(tensor.dtype());
  out.rank = static_cast<int>(tensor.rank());
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), out.sizes);
  std::copy(tensor.strides().begin(), tensor.strides().end(), out.strides);
  out.data = tensor.data();
  return out;
}

struct FreeModel {
  void operator()(tw_model* model) const { tw_model_free(model); }
};
std::unique_ptr<tw_model, FreeModel> load_c() {
  const auto bytes = model_bytes();
  return std::unique_ptr<tw_model, FreeModel>(tw_model_load_bytes(bytes.data(), bytes.size()));
}

TEST(PublicModel, DescribesItself) {
  const auto model = Model::load(model_bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->inputs()[0].dims, (std::vector<std::string>{"B", "3"}));
  EXPECT_EQ(model->outputs()[0].name, "scaled");
  EXPECT_EQ(model->weights()[0].name, "w");
  EXPECT_TRUE(model->scalars()[0].is_float);
  EXPECT_EQ(model->metadata().at("origin"), "test");
}

TEST(PublicModel, RunsByName) {
  const auto model = Model::load(model_bytes());
  ASSERT_TRUE(model.ok());
  const auto got = model->run(Model::Named{{"x", ones({2, 3})}}, {{model->scalars()[0].name, 0.5}});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->at("scaled").data_as<float>()[5], 1.5f);
}

TEST(PublicModel, WritesToMemoryOfTheCaller) {
  const auto model = Model::load(model_bytes());
  ASSERT_TRUE(model.ok());
  std::vector<float> room(6);
  const Scalar two = 2.0;
  const std::vector inputs{ones({2, 3})};
  const Status status = model->run(
      inputs, std::span(&two, 1),
      [&](std::size_t, DType, std::span<const std::int64_t> sizes, std::span<const std::int64_t>) -> Result<void*> {
        EXPECT_EQ(sizes[0], 2);
        return static_cast<void*>(room.data());
      });
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(room, (std::vector<float>{2, 4, 6, 2, 4, 6}));
}

TEST(PublicModel, ReadsInputsBackwards) {
  const auto model = Model::load(model_bytes());
  ASSERT_TRUE(model.ok());
  const std::vector<float> values{1, 2, 3};
  const Tensor base = Tensor::from<float>({1, 3}, values);
  const Tensor backwards(DType::kF32, {1, 3}, {3, -1}, base.data_as<float>() + 2);
  const auto got = model->run(std::vector{backwards}, std::vector<Scalar>{1.0});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ((*got)[0].data_as<float>()[0], 3);
  EXPECT_EQ((*got)[0].data_as<float>()[2], 3);
}

TEST(PublicModelErrors, NameWhatIsMissing) {
  const auto model = Model::load(model_bytes());
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->run(Model::Named{}).error().message, "input 'x' is missing");
  EXPECT_EQ(model->run(Model::Named{{"x", ones({1, 3})}, {"q", ones({1})}}).error().message,
            "the model has no input 'q'");
  EXPECT_EQ(model->run(std::vector{ones({1, 3})}, {}).error().message, "the model takes 1 scalars, 0 given");
}

TEST(Stats, CountWhatRuns) {
  const auto model = Model::load(model_bytes());
  ASSERT_TRUE(model.ok());
  const StatsSnapshot before = stats_snapshot();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(model->run(std::vector{ones({7, 3})}, std::vector<Scalar>{1.0}).ok());
  const StatsSnapshot after = stats_snapshot();
  EXPECT_EQ(after.launches - before.launches, 2);
  EXPECT_EQ(after.programs_encoded - before.programs_encoded, 1);
  EXPECT_EQ(after.cache_hits - before.cache_hits, 1);
  EXPECT_GT(after.encode_p50_ns, 0);
  EXPECT_LE(after.encode_p50_ns, after.encode_p99_ns);
  EXPECT_LE(after.encode_p99_ns, after.encode_max_ns);
  EXPECT_GT(after.resident_bytes, 1 << 20);
}

TEST(CApi, RunsAndGivesResults) {
  const auto model = load_c();
  ASSERT_NE(model, nullptr) << tw_last_error();
  const Tensor x = ones({2, 3});
  const tw_tensor input = view_of(x);
  const tw_scalar scale{0, 3.0};
  tw_tensor output{};
  ASSERT_EQ(tw_model_run(model.get(), &input, 1, &scale, 1, &output, 1), 0) << tw_last_error();
  EXPECT_EQ(output.rank, 2);
  EXPECT_EQ(output.sizes[0], 2);
  EXPECT_EQ(static_cast<float*>(output.data)[2], 9);
  tw_tensor_free(&output);
  EXPECT_EQ(output.data, nullptr);
}

TEST(CApi, DescribesInputs) {
  const auto model = load_c();
  tw_tensor_info info;
  ASSERT_EQ(tw_model_input(model.get(), 0, &info), 0);
  EXPECT_STREQ(info.name, "x");
  EXPECT_STREQ(info.dims[0], "B");
  EXPECT_NE(tw_model_input(model.get(), 1, &info), 0);
  EXPECT_STREQ(tw_last_error(), "number 1 of 1");
}

TEST(CApi, WritesToMemoryOfTheCaller) {
  const auto model = load_c();
  const Tensor x = ones({1, 3});
  const tw_tensor input = view_of(x);
  const tw_scalar scale{0, 1.0};
  float room[3] = {};
  const auto allocate = [](void* state, std::size_t, const tw_tensor* tensor) {
    return tensor->sizes[1] == 3 ? state : nullptr;
  };
  ASSERT_EQ(tw_model_run_into(model.get(), &input, 1, &scale, 1, allocate, room), 0) << tw_last_error();
  EXPECT_EQ(room[2], 3);
}

TEST(CApi, ReplacesWeights) {
  const auto model = load_c();
  const Tensor w = ones({3}), x = ones({1, 3});
  const tw_tensor weight = view_of(w), input = view_of(x);
  ASSERT_EQ(tw_model_set_weight(model.get(), "w", &weight), 0);
  const tw_scalar scale{0, 1.0};
  tw_tensor output{};
  ASSERT_EQ(tw_model_run(model.get(), &input, 1, &scale, 1, &output, 1), 0);
  EXPECT_EQ(static_cast<float*>(output.data)[2], 1);
  tw_tensor_free(&output);
}

TEST(CApi, ErrorsHaveTextAndCode) {
  EXPECT_EQ(tw_model_load("/nowhere/model"), nullptr);
  EXPECT_STREQ(tw_last_error(), "/nowhere/model: cannot read: No such file or directory");
  const auto model = load_c();
  const Tensor x = ones({1, 4});
  tw_tensor input = view_of(x);
  const tw_scalar scale{0, 1.0};
  tw_tensor output{};
  EXPECT_EQ(tw_model_run(model.get(), &input, 1, &scale, 1, &output, 1), info(ErrorKind::kShapeMismatch).exit_code);
  EXPECT_STREQ(tw_last_error(), "input 'x', axis 1: expected 3, got 4");
  input.dtype = 99;
  EXPECT_EQ(tw_model_run(model.get(), &input, 1, &scale, 1, &output, 1), info(ErrorKind::kDTypeMismatch).exit_code);
  EXPECT_STREQ(tw_last_error(), "input 0: unknown dtype 99");
}

}  // namespace
}  // namespace tilewright
