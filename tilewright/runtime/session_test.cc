// Sessions against the oracle: the same graph text, run by the compiled program on every level and by graph/eval.
#include "tilewright/runtime/session.h"

#include <gtest/gtest.h>

#include <random>

#include "tilewright/graph/eval/eval.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::runtime {
namespace {

Tensor random_tensor(DType dtype, std::vector<std::int64_t> sizes, std::uint32_t seed) {
  Tensor out(dtype, std::move(sizes));
  std::mt19937 engine(seed);
  visit(dtype, [&]<typename T>() {
    std::uniform_real_distribution<float> real(-2.0f, 2.0f);
    std::uniform_int_distribution<int> integer(dtype == DType::kU8 || dtype == DType::kBool ? 0 : -5,
                                               dtype == DType::kBool ? 1 : 5);
    for (std::int64_t i = 0; i < out.count(); ++i) {
      out.data_as<T>()[i] =
          is_float(dtype) ? static_cast<T>(real(engine)) : static_cast<T>(static_cast<float>(integer(engine)));
    }
  });
  return out;
}

void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
  ASSERT_EQ(std::vector(got.sizes().begin(), got.sizes().end()), std::vector(want.sizes().begin(), want.sizes().end()));
  ASSERT_EQ(got.dtype(), want.dtype());
  visit(got.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < got.count(); ++i) {
      const auto a = static_cast<double>(got.data_as<T>()[i]), b = static_cast<double>(want.data_as<T>()[i]);
      if (std::isnan(b)) {
        ASSERT_TRUE(std::isnan(a)) << "element " << i;
      } else if (std::isinf(b)) {
        ASSERT_EQ(a, b) << "element " << i;
      } else {
        ASSERT_NEAR(a, b, tolerance * std::max(1.0, std::abs(b))) << "element " << i;
      }
    }
  });
}

std::vector<std::unique_ptr<vm::Machine>>& machines() {
  static std::vector<std::unique_ptr<vm::Machine>> all = [] {
    std::vector<std::unique_ptr<vm::Machine>> made;
    made.push_back(vm::make_reference_machine());
    for (std::string_view level : vm::cpu_levels()) {
      auto machine = vm::make_cpu_machine({std::string(level)});
      if (machine.ok()) made.push_back(std::move(machine).value());
    }
    return made;
  }();
  return all;
}

// Runs `text` for each list of input sizes on every machine, in one session per machine, and compares with the oracle.
void expect_oracle(std::string_view text, const std::vector<std::vector<std::vector<std::int64_t>>>& shapes,
                   double tolerance = 2e-5) {
  for (auto& machine : machines()) {
    SCOPED_TRACE(std::string(machine->traits().name));
    auto graph = parse_graph(text);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    SessionOptions options;
    options.machine = machine.get();
    options.pipeline.verify_each = true;
    auto session = Session::compile((*graph)->clone(), options);
    ASSERT_TRUE(session.ok()) << session.error().message;
    for (const auto& sizes : shapes) {
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        inputs.push_back(
            random_tensor((*graph)->type((*graph)->inputs()[i]).dtype, sizes[i], static_cast<std::uint32_t>(i + 1)));
      }
      auto want = eval(**graph, inputs);
      ASSERT_TRUE(want.ok()) << want.error().message;
      auto got = (*session)->run(inputs);
      ASSERT_TRUE(got.ok()) << got.error().message;
      ASSERT_EQ(got->size(), want->size());
      for (std::size_t i = 0; i < want->size(); ++i) expect_near((*got)[i], (*want)[i], tolerance);
    }
  }
}

TEST(Session, ElementwiseChainBroadcastsPerCall) {
  expect_oracle(
      R"(
    x: f32[B, S, 7]
    y: f32[S, 7]
    b: f32[7]
    a = mul(x, y)
    c = add(a, b)
    d = gelu(c)
    e = sub(d, x)
    return e, c
  )",
      {{{2, 3, 7}, {3, 7}, {7}}, {{1, 1, 7}, {1, 7}, {7}}, {{0, 3, 7}, {3, 7}, {7}}, {{5, 40, 7}, {40, 7}, {7}}});
}

TEST(Session, MatMulWithEpilogue) {
  expect_oracle(R"(
    x: f32[B, S, 33]
    weight w: f32[50, 33]
    b: f32[50]
    t = transpose(w) perm=[1,0]
    y = matmul(x, t)
    z = add(y, b)
    g = gelu(z)
    return g
  )",
                {{{2, 3, 33}, {50, 33}, {50}}, {{1, 1, 33}, {50, 33}, {50}}, {{3, 17, 33}, {50, 33}, {50}}}, 1e-4);
}

TEST(Session, NormOfASum) {
  expect_oracle(R"(
    x: f32[B, L]
    r: f32[B, L]
    w: f32[L]
    b: f32[L]
    s = add(x, r)
    y = layer_norm(s, w, b) num_axes=1 eps=1e-05
    return y, s
  )",
                {{{3, 5}, {3, 5}, {5}, {5}},
                 {{1, 1}, {1, 1}, {1}, {1}},
                 {{9, 384}, {9, 384}, {384}, {384}},
                 {{2, 5003}, {2, 5003}, {5003}, {5003}}},
                1e-4);
}

TEST(Session, SoftmaxOfScaledScores) {
  expect_oracle(R"(
    x: f32[B, L]
    k = scalar() dtype=f32 value=0.125
    s = mul(x, k)
    y = softmax(s) axis=1
    return y
  )",
                {{{3, 5}}, {{1, 1}}, {{7, 300}}, {{2, 5003}}, {{0, 4}}});
}

TEST(Session, RowReductionsAndTheirConsumers) {
  expect_oracle(R"(
    x: f32[A, B, L]
    m = reduce_mean(x) axes=[2] keepdim=1
    d = sub(x, m)
    q = mul(d, d)
    v = reduce_sum(q) axes=[2] keepdim=1
    r = rsqrt(v)
    y = mul(d, r)
    z = reduce_max(y) axes=[2]
    return y, z, v
  )",
                {{{2, 3, 9}}, {{1, 1, 2}}, {{4, 5, 1000}}, {{1, 2, 9000}}}, 1e-4);
}

TEST(Session, ColumnReductions) {
  expect_oracle(R"(
    x: f32[A, B, L]
    m = reduce_sum(x) axes=[0]
    n = reduce_max(x) axes=[0,1] keepdim=1
    o = reduce_mean(x) axes=[0,2]
    return m, n, o
  )",
                {{{2, 3, 9}}, {{1, 1, 1}}, {{40, 5, 130}}, {{300, 2, 9}}}, 1e-4);
}

TEST(Session, MovementIsExact) {
  expect_oracle(R"(
    x: f32[A, B, 6]
    t = transpose(x) perm=[2,0,1]
    f = reshape(t) shape=[6*A*B]
    g = slice(x) start=[0,0,1] stop=[A,B,6] step=[1,1,2]
    h = flip(x) axes=[1]
    e = reshape(g) shape=[A*B, 3]
    return f, g, h, e, t
  )",
                {{{2, 3, 6}}, {{1, 1, 6}}, {{7, 1, 6}}, {{0, 3, 6}}}, 0);
}

TEST(Session, AttentionOverHeads) {
  expect_oracle(R"(
    q: f32[B, S, 32]
    k: f32[B, T, 32]
    v: f32[B, T, 32]
    q4 = reshape(q) shape=[B, S, 4, 8]
    k4 = reshape(k) shape=[B, T, 4, 8]
    v4 = reshape(v) shape=[B, T, 4, 8]
    qt = transpose(q4) perm=[0,2,1,3]
    kt = transpose(k4) perm=[0,2,1,3]
    vt = transpose(v4) perm=[0,2,1,3]
    a = attention(qt, kt, vt) scale=0.35
    at = transpose(a) perm=[0,2,1,3]
    o = reshape(at) shape=[B, S, 32]
    return o
  )",
                {{{2, 3, 32}, {2, 5, 32}, {2, 5, 32}},
                 {{1, 1, 32}, {1, 1, 32}, {1, 1, 32}},
                 {{3, 80, 32}, {3, 80, 32}, {3, 80, 32}}},
                1e-4);
}

TEST(Session, DTypesMixInOneGraph) {
  expect_oracle(R"(
    i: i64[N]
    h: f16[N]
    u: u8[N]
    a = cast(i) dtype=f32
    b = cast(h) dtype=f32
    c = add(a, b)
    d = cast(u) dtype=f32
    m = lt(c, d)
    e = select(m, c, d)
    f = cast(e) dtype=i64
    g = add(f, i)
    k = cast(e) dtype=f16
    s = add(u, u)
    return e, g, m, k, s
  )",
                {{{5}, {5}, {5}}, {{1}, {1}, {1}}, {{300}, {300}, {300}}}, 1e-3);
}

TEST(Session, BranchesOfDifferentSize) {
  expect_oracle(R"(
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
    w = neg(y)
    return w
  )",
                {{{5}}, {{1}}, {{40}}, {{3}}}, 1e-5);
}

TEST(Session, TruncationByCastsInAMap) {
  expect_oracle(
      "x: f32[B] a = cast(x) dtype=i32 b = cast(a) dtype=f32 c = cast(a) dtype=bool y = mul(b, x) return y, b, c",
      {{{40}}, {{1}}});
}

TEST(Session, TruncationByCastsInFrontOfANorm) {
  expect_oracle(
      "x: f32[S, 8] a = cast(x) dtype=i32 b = cast(a) dtype=f32 y = layer_norm(b) num_axes=1 eps=0.25 return y, b",
      {{{1, 8}}, {{3, 8}}});
}

TEST(Session, ALoneCastKeepsLargeIntegers) {
  expect_oracle(
      "x: f32[B] k = scalar() dtype=f32 value=3e9 z = mul(x, k) t = reshape(z) shape=[B,1] u = transpose(t) perm=[1,0] "
      "c = concat(u, u) axis=0 a = cast(c) dtype=i64 return a",
      {{{9}}, {{40}}});
}

TEST(Session, NamesTheInputThatDoesNotFit) {
  auto graph = parse_graph("x: f32[B, 4]\ny: f32[B, 4]\nz = add(x, y)\nreturn z");
  ASSERT_TRUE(graph.ok());
  auto session = Session::compile(std::move(*graph));
  ASSERT_TRUE(session.ok()) << session.error().message;
  const std::vector<Tensor> wrong{random_tensor(DType::kF32, {3, 4}, 1), random_tensor(DType::kF32, {2, 4}, 2)};
  auto got = (*session)->run(wrong);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message, "input 'y', axis 0: expected B = 3, got 2");
}

}  // namespace
}  // namespace tilewright::runtime
