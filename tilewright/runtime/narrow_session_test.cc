// Products of bytes and of bf16, quantised operators and their epilogues, against the oracle on every machine; and
// which kernels they become.
#include "tilewright/runtime/explain.h"
#include "tilewright/runtime/oracle_testing.h"

namespace tilewright::runtime {
namespace {

using testing::expect_oracle;
using testing::expect_oracle_on;
using testing::machines;

// Every byte value occurs, the extremes often.
Tensor bytes(DType dtype, std::vector<std::int64_t> sizes, std::uint32_t seed) {
  Tensor out(dtype, std::move(sizes));
  std::mt19937 random(seed);
  auto* data = static_cast<unsigned char*>(static_cast<void*>(out.data()));
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const unsigned extreme = dtype == DType::kU8 ? 255u : 0x80u;
    data[i] = static_cast<unsigned char>(random() % 5 == 0 ? extreme : random());
  }
  return out;
}

// Inputs of the graph: bytes over their whole range, floats in [-2, 2).
std::vector<Tensor> inputs_of(std::string_view text, const testing::Shapes& shapes, std::uint32_t seed) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const DType dtype = (*graph)->type((*graph)->inputs()[i]).dtype;
    const auto number = seed + static_cast<std::uint32_t>(i);
    inputs.push_back(byte_size(dtype) == 1 ? bytes(dtype, shapes[i], number)
                                           : testing::random_tensor(dtype, shapes[i], number));
  }
  return inputs;
}

void expect_on_bytes(std::string_view text, const std::vector<testing::Shapes>& shapes, double tolerance = 0) {
  std::vector<std::vector<Tensor>> calls;
  for (const testing::Shapes& sizes : shapes) calls.push_back(inputs_of(text, sizes, 11));
  expect_oracle_on(text, calls, tolerance);
}

TEST(IntegerMatMul, EachSignAndZeroPoints) {
  for (const std::string_view a : {"u8", "i8"}) {
    for (const std::string_view b : {"u8", "i8"}) {
      SCOPED_TRACE(fmt::format("{} x {}", a, b));
      expect_on_bytes(fmt::format(R"(
        a: {0}[M, K]
        b: {1}[K, N]
        za: {0}[]
        zb: {1}[]
        rows: {0}[M, 1]
        columns: {1}[N]
        p = integer_matmul(a, b)
        q = integer_matmul(a, b, za)
        r = integer_matmul(a, b, za, zb)
        s = integer_matmul(a, b, rows, columns)
        return p, q, r, s
      )",
                                  a, b),
                      {{{1, 1}, {1, 1}, {}, {}, {1, 1}, {1}},
                       {{3, 7}, {7, 5}, {}, {}, {3, 1}, {5}},
                       {{40, 65}, {65, 97}, {}, {}, {40, 1}, {97}},
                       {{2, 0}, {0, 3}, {}, {}, {2, 1}, {3}},
                       {{0, 4}, {4, 3}, {}, {}, {0, 1}, {3}}});
    }
  }
}

TEST(IntegerMatMul, BatchesBroadcast) {
  expect_on_bytes(R"(
    a: u8[B, 1, M, K]
    b: i8[H, K, N]
    w: i8[K, N]
    za: u8[B, 1, M, 1]
    zb: i8[H, 1, N]
    p = integer_matmul(a, b, za, zb)
    q = integer_matmul(a, w, za)
    t = transpose(b) perm=[0,2,1]
    at = transpose(a) perm=[0,1,3,2]
    r = integer_matmul(t, at)
    return p, q, r
  )",
                  {{{2, 1, 3, 5}, {4, 5, 6}, {5, 6}, {2, 1, 3, 1}, {4, 1, 6}},
                   {{3, 1, 20, 33}, {2, 33, 50}, {33, 50}, {3, 1, 20, 1}, {2, 1, 50}}});
}

TEST(IntegerMatMul, OfAWeightIsPackedOnce) {
  expect_on_bytes(R"(
    a: u8[M, 70]
    weight w: i8[70, 50]
    weight v: u8[50, 70]
    t = transpose(v) perm=[1,0]
    p = integer_matmul(a, w)
    q = integer_matmul(a, t)
    return p, q
  )",
                  {{{1, 70}, {70, 50}, {50, 70}}, {{33, 70}, {70, 50}, {50, 70}}, {{5, 70}, {70, 50}, {50, 70}}});
}

constexpr std::string_view kRequantised = R"(
  a: u8[M, K]
  weight w: i8[K, N]
  scale: f32[N]
  bias: f32[N]
  za: u8[]
  p = integer_matmul(a, w, za)
  f = cast(p) dtype=f32
  s = mul(f, scale)
  b = add(s, bias)
  r = relu(b)
  step = scalar() dtype=f32 value=0.37
  zero = scalar() dtype=u8 value=3
  q = quantize_linear(r, step, zero) dtype=u8
  return q
)";

TEST(IntegerMatMul, ScalesBiasesAndRequantisesInItsEpilogue) {
  expect_on_bytes(kRequantised, {{{1, 64}, {64, 30}, {30}, {30}, {}}, {{37, 65}, {65, 100}, {100}, {100}, {}}});
  auto graph = parse_graph(kRequantised);
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(passes::run_pipeline(**graph).ok());
  int fused = 0;
  for (NodeId id : (*graph)->order()) fused += (*graph)->node(id).op == Op::kFused ? 1 : 0;
  EXPECT_EQ(fused, 1);
}

TEST(IntegerMatMul, NamesWhatDoesNotFit) {
  const auto error = [](std::string_view text) {
    auto graph = parse_graph(text);
    return graph.ok() ? std::string("no error") : graph.error().message;
  };
  EXPECT_NE(
      error("a: f32[2, 3]  b: i8[3, 4]\n c = integer_matmul(a, b)\n return c").find("a must be u8 or i8: f32[2, 3]"),
      std::string::npos);
  EXPECT_NE(
      error("a: u8[2, 3]  b: i8[3, 4]  z: i8[]\n c = integer_matmul(a, b, z)\n return c").find("a_zero must be u8"),
      std::string::npos);
}

TEST(HalfMatMul, SumsInF32AndFusesItsEpilogue) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const double tolerance = dtype == DType::kBF16 ? 2e-2 : 3e-3;
    expect_oracle(testing::with_dtype(R"(
      a: DTYPE[B, M, K]
      b: DTYPE[B, K, N]
      weight w: DTYPE[K, N]
      c: DTYPE[N]
      p = matmul(a, b)
      q = matmul(a, w)
      r = add(q, c)
      g = gelu(r)
      t = transpose(b) perm=[0,2,1]
      at = transpose(a) perm=[0,2,1]
      u = matmul(t, at)
      return p, g, u
    )",
                                      dtype),
                  {{{1, 1, 1}, {1, 1, 1}, {1, 1}, {1}},
                   {{2, 3, 5}, {2, 5, 7}, {5, 7}, {7}},
                   {{2, 33, 65}, {2, 65, 50}, {65, 50}, {50}},
                   {{1, 5, 0}, {1, 0, 3}, {0, 3}, {3}}},
                  tolerance);
  }
}

TEST(QuantizeLinear, PerTensorAxisAndBlock) {
  for (const std::string_view dtype : {"u8", "i8", "i16"}) {
    expect_on_bytes(
        fmt::format(R"(
      x: f32[A, 6, C]
      one: f32[]
      axis: f32[6]
      block: f32[A, 3, C]
      z1: {0}[]
      z6: {0}[6]
      zb: {0}[A, 3, C]
      abs1 = abs(one)
      abs6 = abs(axis)
      absb = abs(block)
      p = quantize_linear(x, abs1, z1) dtype={0}
      q = quantize_linear(x, abs6, z6) dtype={0} axis=1
      r = quantize_linear(x, absb, zb) dtype={0} axis=1 block=2
      s = quantize_linear(x, abs1) dtype={0} low=-3 high=100
      dp = dequantize_linear(p, abs1, z1)
      dq = dequantize_linear(q, abs6, z6) axis=1
      dr = dequantize_linear(r, absb, zb) axis=1 block=2
      return p, q, r, s, dp, dq, dr
    )",
                    dtype),
        {{{2, 6, 3}, {}, {6}, {2, 3, 3}, {}, {6}, {2, 3, 3}}, {{1, 6, 70}, {}, {6}, {1, 3, 70}, {}, {6}, {1, 3, 70}}},
        1e-6);
  }
}

TEST(QuantizeLinear, TiesGoToEvenAndValuesSaturate) {
  const std::string_view text = R"(
    x: f32[N]
    scale: f32[]
    zero: u8[]
    q = quantize_linear(x, scale, zero) dtype=u8
    return q
  )";
  Tensor x(DType::kF32, {8}), scale(DType::kF32, {}), zero(DType::kU8, {});
  const float values[] = {1, 3, -1, 5, 1000, -1000, 255, -254};
  std::copy(values, values + 8, x.data_as<float>());
  scale.data_as<float>()[0] = 2;
  zero.data_as<std::uint8_t>()[0] = 128;
  const int want[] = {128, 130, 128, 130, 255, 0, 255, 1};
  for (auto& machine : machines()) {
    auto session = testing::compile(text, *machine);
    ASSERT_NE(session, nullptr);
    auto got = session->run(std::vector<Tensor>{x, scale, zero});
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (int i = 0; i < 8; ++i) EXPECT_EQ((*got)[0].data_as<std::uint8_t>()[i], want[i]) << machine->traits().name;
  }
}

// Beside the i32 conv that it means, because the composite's definition takes another way.
TEST(IntegerConv, PadsCountAsTheZeroPoint) {
  constexpr std::string_view kText = R"(
    x: u8[N, 6, H, W]
    w: i8[8, 3, 3, 3]
    v: i8[4, 6, 1, 1]
    dw: i8[6, 1, 3, 3]
    zx: u8[]
    zw: i8[8]
    p = integer_conv(x, w, zx, zw) stride=[1,2] low=[1,1] high=[1,0] dilation=[1,2] groups=2
    q = integer_conv(x, w) stride=[1,1] low=[0,2] high=[1,0] dilation=[1,1] groups=2
    r = integer_conv(x, v, zx) stride=[1,1] low=[0,0] high=[0,0] dilation=[1,1]
    s = integer_conv(x, dw, zx) stride=[1,1] low=[1,1] high=[1,1] dilation=[1,1] groups=6
    x32 = cast(x) dtype=i32
    w32 = cast(w) dtype=i32
    v32 = cast(v) dtype=i32
    d32 = cast(dw) dtype=i32
    z32 = cast(zx) dtype=i32
    u32 = cast(zw) dtype=i32
    ur = reshape(u32) shape=[8,1,1,1]
    xc = sub(x32, z32)
    wc = sub(w32, ur)
    pi = conv(xc, wc) stride=[1,2] low=[1,1] high=[1,0] dilation=[1,2] groups=2
    qi = conv(x32, w32) stride=[1,1] low=[0,2] high=[1,0] dilation=[1,1] groups=2
    ri = conv(xc, v32) stride=[1,1] low=[0,0] high=[0,0] dilation=[1,1]
    si = conv(xc, d32) stride=[1,1] low=[1,1] high=[1,1] dilation=[1,1] groups=6
    pe = sub(p, pi)
    qe = sub(q, qi)
    re = sub(r, ri)
    se = sub(s, si)
    pa = abs(pe)
    qa = abs(qe)
    ra = abs(re)
    sa = abs(se)
    pm = reduce_max(pa) axes=[0,1,2,3]
    qm = reduce_max(qa) axes=[0,1,2,3]
    rm = reduce_max(ra) axes=[0,1,2,3]
    sm = reduce_max(sa) axes=[0,1,2,3]
    pq = max(pm, qm)
    rs = max(rm, sm)
    worst = max(pq, rs)
    return p, q, r, s, worst
  )";
  const std::vector<testing::Shapes> shapes = {{{1, 6, 5, 7}, {8, 3, 3, 3}, {4, 6, 1, 1}, {6, 1, 3, 3}, {}, {8}},
                                               {{2, 6, 9, 20}, {8, 3, 3, 3}, {4, 6, 1, 1}, {6, 1, 3, 3}, {}, {8}}};
  expect_on_bytes(kText, shapes);
  auto graph = parse_graph(kText);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (const testing::Shapes& sizes : shapes) {
    const auto results = eval(**graph, inputs_of(kText, sizes, 11));
    ASSERT_TRUE(results.ok()) << results.error().message;
    EXPECT_EQ((*results)[4].data_as<std::int32_t>()[0], 0);
  }
}

TEST(BlockMatMul, UnpacksScalesAndZeros) {
  const std::string_view text = R"(
    a: f32[B, M, 40]
    weight q: u8[N, 3, 8]
    weight s: f32[N, 3]
    weight zb: u8[N, 2]
    weight zf: f32[N, 3]
    p = block_matmul(a, q, s) block=16
    r = block_matmul(a, q, s, zb) block=16
    t = block_matmul(a, q, s, zf) block=16
    return p, r, t
  )";
  expect_on_bytes(
      text, {{{1, 1, 40}, {5, 3, 8}, {5, 3}, {5, 2}, {5, 3}}, {{2, 9, 40}, {50, 3, 8}, {50, 3}, {50, 2}, {50, 3}}},
      1e-4);
}

// 4-bit weights as inputs, as weights in any strides, with a fused epilogue and in half precision.
TEST(BlockMatMul, WeightsAndInputsFuseTheirEpilogue) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const double tolerance = dtype == DType::kF32 ? 1e-4 : dtype == DType::kF16 ? 4e-3 : 3e-2;
    const std::string text = testing::with_dtype(R"(
      a: DTYPE[B, M, K]
      weight q: u8[N, 4, 16]
      weight s: DTYPE[N, 4]
      r: u8[N, 4, 16]
      t: DTYPE[4, N]
      bias: DTYPE[N]
      columns = transpose(t) perm=[1,0]
      x = block_matmul(a, q, s) block=32
      y = add(x, bias)
      z = relu(y)
      u = block_matmul(a, r, columns) block=32
      return z, u
    )",
                                                 dtype);
    const auto shapes = [](std::int64_t b, std::int64_t m, std::int64_t k, std::int64_t n) {
      return testing::Shapes{{b, m, k}, {n, 4, 16}, {n, 4}, {n, 4, 16}, {4, n}, {n}};
    };
    expect_on_bytes(text, {shapes(1, 1, 128, 5), shapes(2, 3, 100, 50), shapes(1, 40, 97, 17)}, tolerance);
  }
}

TEST(BlockMatMul, NamesWhatDoesNotFit) {
  for (auto& machine : machines()) {
    auto session = testing::compile(R"(
      a: f32[M, K]
      q: u8[N, B, 8]
      s: f32[N, B]
      p = block_matmul(a, q, s) block=16
      return p
    )",
                                    *machine);
    ASSERT_NE(session, nullptr);
    auto got = session->run(std::vector<Tensor>{testing::random_tensor(DType::kF32, {2, 40}, 1),
                                                bytes(DType::kU8, {3, 2, 8}, 2),
                                                testing::random_tensor(DType::kF32, {3, 2}, 3)});
    ASSERT_FALSE(got.ok());
    EXPECT_NE(got.error().message.find("sizes do not fit: K = 40"), std::string::npos) << got.error().message;
  }
}

TEST(HalfAttention, IsComputedInF32) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    expect_oracle(testing::with_dtype(R"(
      q: DTYPE[B, 4, S, D]
      k: DTYPE[B, 2, T, D]
      v: DTYPE[B, 2, T, E]
      m: DTYPE[S, T]
      a = attention(q, k, v) scale=0.25
      b = attention(q, k, v, m) scale=0.25
      c = attention(q, k, v) scale=0.25 causal=1
      return a, b, c
    )",
                                      dtype),
                  {{{1, 4, 3, 8}, {1, 2, 5, 8}, {1, 2, 5, 6}, {3, 5}},
                   {{2, 4, 90, 16}, {2, 2, 100, 16}, {2, 2, 100, 33}, {90, 100}}},
                  dtype == DType::kBF16 ? 2e-2 : 3e-3);
  }
}

}  // namespace
}  // namespace tilewright::runtime
