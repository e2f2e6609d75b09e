// One plan that serves several weights in turn: what is packed of kept weights stays, one version of each.
#include "tilewright/runtime/weights.h"

#include <gtest/gtest.h>

#include "tilewright/graph/testing.h"
#include "tilewright/runtime/session.h"
#include "tilewright/runtime/stats.h"

namespace tilewright::runtime {
namespace {

struct Sink : OutputSink {
  std::vector<float> memory = std::vector<float>(1024);
  Result<std::byte*> allocate(std::size_t, DType, std::span<const std::int64_t>,
                              std::span<const std::int64_t>) override {
    return reinterpret_cast<std::byte*>(memory.data());
  }
};

class Layers : public ::testing::Test {
 protected:
  static constexpr std::int64_t kSize = 24;
  static Tensor filled(float value) {
    Tensor tensor(DType::kF32, Ints{kSize, kSize});
    std::fill_n(tensor.data_as<float>(), kSize * kSize, value);
    return tensor;
  }
  // x w of ones and a weight of equal elements; how many weights the call packed.
  std::int64_t run(const Tensor& weight, std::uint64_t identity, std::uint64_t version) {
    const std::int64_t before = stats().weights_packed;
    std::vector<TensorArg> inputs{TensorArg::of(x), TensorArg::of(weight)};
    inputs[1].identity = identity;
    inputs[1].version = version;
    const Status status = session->run(inputs, {}, sink);
    EXPECT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(sink.memory[0], static_cast<float>(kSize) * weight.data_as<float>()[0]);
    return stats().weights_packed - before;
  }

  std::unique_ptr<Session> session =
      std::move(Session::compile(parse_or_die("x: f32[S, 24] weight w: f32[24, 24] y = matmul(x, w) return y")))
          .value();
  Tensor x = filled(1), a = filled(2), b = filled(3);
  Sink sink;
};

constexpr std::uint64_t kA = 1u << 20, kB = kA + 1;  // not used by others

TEST_F(Layers, KeptWeightsInTurnArePackedOnce) {
  keep_packed(kA);
  keep_packed(kB);
  EXPECT_EQ(run(a, kA, 1), 1);
  EXPECT_EQ(run(b, kB, 1), 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run(a, kA, 1), 0);
    EXPECT_EQ(run(b, kB, 1), 0);
  }
  drop_packed(kA);
  drop_packed(kB);
}

TEST_F(Layers, ANewVersionTakesThePlaceOfTheOld) {
  keep_packed(kA);
  run(a, kA, 1);
  const std::int64_t held = stats().packed_bytes;
  for (std::uint64_t version = 2; version < 6; ++version) {
    a.data_as<float>()[0] += 1;
    std::fill_n(a.data_as<float>(), kSize * kSize, a.data_as<float>()[0]);
    EXPECT_EQ(run(a, kA, version), 1);
    EXPECT_EQ(stats().packed_bytes, held);
  }
  drop_packed(kA);
}

TEST_F(Layers, WhatIsDroppedIsFreedWithItsLastCall) {
  const std::int64_t before = stats().packed_bytes;
  keep_packed(kA);
  keep_packed(kB);
  run(a, kA, 1);
  const std::int64_t one = stats().packed_bytes - before;
  run(b, kB, 1);
  EXPECT_EQ(stats().packed_bytes, before + 2 * one);
  drop_packed(kA);
  EXPECT_EQ(stats().packed_bytes, before + one);
  drop_packed(kB);
  session.reset();
  EXPECT_EQ(stats().packed_bytes, before);
}

TEST_F(Layers, WeightsThatNobodyKeepsAreThoseOfTheLastCall) {
  const std::int64_t before = stats().packed_bytes;
  EXPECT_EQ(run(a, kA, 1), 1);
  const std::int64_t one = stats().packed_bytes - before;
  EXPECT_EQ(run(b, kB, 1), 1);
  EXPECT_EQ(stats().packed_bytes, before + one);
  EXPECT_EQ(run(a, kA, 1), 1);
}

}  // namespace
}  // namespace tilewright::runtime
