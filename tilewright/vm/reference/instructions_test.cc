// Every tile instruction and phase on small data against loops written out here, with tiles that do not divide the
// sizes.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

#include "tilewright/vm/reference/run_text.h"

namespace tilewright::vm::reference {
namespace {

std::vector<float> random_floats(std::size_t count, std::uint64_t seed = 7) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

void expect_close(const std::vector<float>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-6 * (1 + std::fabs(expected[i]))) << i;
}

TEST(Map, TransposesAndReversesByStrides) {
  // out[i][j][p] = in[p][j][3 - i]   with in [150, 5, 4]
  const std::vector<float> in = random_floats(150 * 5 * 4);
  const auto got = run_text(R"(program scratch=0
buffer 0 input 12000
buffer 1 output 12000
map tasks=24 inner=150 dims=[4,5] row_tile=2 inner_tile=128
  s0 = buffer 0 f32 offset=12 inner=80 strides=[-4,16]
  s1 = buffer 1 f32 inner=4 strides=[3000,600]
  phase strip
    load_f32.f32.strided s0
    store_f32.f32.unit s1
    end.f32
)",
                            {to_bytes(in)});
  const auto out = from_bytes<float>(got[1]);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t p = 0; p < 150; ++p) EXPECT_EQ(out[(i * 5 + j) * 150 + p], in[(p * 5 + j) * 4 + 3 - i]);
    }
  }
}

std::string rows_program(int row_tile) {
  return fmt::format(R"(program scratch=2048
buffer 0 input 5200
buffer 1 output 5200
buffer 2 output 104
rows tasks={} inner=100 dims=[13] row_tile={}
  s0 = buffer 0 f32 inner=4 strides=[400]
  s1 = buffer 1 f32 inner=4 strides=[400]
  s2 = accumulator f32 reduce=sum target=4
  s3 = accumulator f32 offset=512 reduce=max target=5
  s4 = scratch f32 offset=1024 strides=[4]
  s5 = buffer 2 f32 offset=52 strides=[4]
  s6 = literal f32 bits=0x42c80000  # 100
  phase strip accumulator=2 count=2
    load_f32.f32.unit s0
    acc_max.f32 s3
    acc_sum.f32 s2
    end.f32
  phase scalar
    load_f32.f32.unit s4
    div.f32.one s6
    store_f32.f32.unit s4
    end.f32
  phase strip
    load_f32.f32.unit s0
    sub.f32.one s4
    store_f32.f32.unit s1
    end.f32
)",
                     (13 + row_tile - 1) / row_tile, row_tile);
}

TEST(Rows, ReduceThenUseTheResultWhateverTheTile) {
  const std::vector<float> in = random_floats(1300);
  for (const int row_tile : {1, 4, 13, 50}) {
    const auto got = run_text(rows_program(row_tile), {to_bytes(in)});
    const auto centred = from_bytes<float>(got[1]);
    const auto largest = from_bytes<float>(got[2]);
    for (std::size_t row = 0; row < 13; ++row) {
      double sum = 0;
      float max = -std::numeric_limits<float>::infinity();
      for (std::size_t p = 0; p < 100; ++p) sum += in[row * 100 + p], max = std::max(max, in[row * 100 + p]);
      EXPECT_EQ(largest[13 + row], max);
      const float mean = static_cast<float>(sum) / 100;
      for (std::size_t p = 0; p < 100; ++p) EXPECT_EQ(centred[row * 100 + p], in[row * 100 + p] - mean);
    }
  }
}

// One reduction of three rows of `lane` (row 2 has no special meaning), by name; `bits` is what the lane calls the
// identity.
std::vector<Bytes> reduce_rows(std::string_view kind, std::string_view lane, int size, const Bytes& input,
                               std::int64_t inner) {
  return run_text(fmt::format(R"(program scratch=512
buffer 0 input {0}
buffer 1 output {1}
rows tasks=1 inner={2} dims=[2] row_tile=2
  s0 = buffer 0 {3} inner={4} strides=[{5}]
  s1 = accumulator {3} reduce={6} target=2
  s2 = buffer 1 {3} strides=[{4}]
  phase strip accumulator=1 count=1
    load_{3}.{3}.unit s0
    acc_{6}.{3} s1
    end.{3}
)",
                              input.size(), 2 * size, inner, lane, size, size * inner, kind),
                  {input});
}

TEST(Rows, EveryReductionOfEveryLane) {
  const auto check = [&]<typename T>(std::string_view lane, std::string_view kind, T first, T second) {
    const std::vector<T> in = {3, -2, 5, -1, -1, -1};
    const auto got = reduce_rows(kind, lane, sizeof(T), to_bytes(in), 3);
    EXPECT_EQ(from_bytes<T>(got[1]), (std::vector<T>{first, second})) << kind << " " << lane;
  };
  const auto numbers = [&]<typename T>(std::string_view lane) {
    check.template operator()<T>(lane, "sum", 6, -3);
    check.template operator()<T>(lane, "prod", -30, -1);
    check.template operator()<T>(lane, "max", 5, -1);
    check.template operator()<T>(lane, "min", -2, -1);
    if (std::is_floating_point_v<T>) check.template operator()<T>(lane, "sum_square", 38, 3);
    if (std::is_integral_v<T>) check.template operator()<T>(lane, "or", 3 | -2 | 5, -1);
    if (std::is_integral_v<T>) check.template operator()<T>(lane, "and", 3 & -2 & 5, -1);
  };
  numbers.operator()<float>("f32");
  numbers.operator()<std::int32_t>("i32");
  numbers.operator()<double>("f64");
  numbers.operator()<std::int64_t>("i64");
}

TEST(Rows, ReductionsOfNothingGiveTheIdentity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto of_floats = [](std::string_view kind) {
    return from_bytes<float>(reduce_rows(kind, "f32", 4, {}, 0)[1])[0];
  };
  const auto of_integers = [](std::string_view kind) {
    return from_bytes<std::int64_t>(reduce_rows(kind, "i64", 8, {}, 0)[1])[1];
  };
  EXPECT_EQ(of_floats("sum"), 0);
  EXPECT_EQ(of_floats("prod"), 1);
  EXPECT_EQ(of_floats("max"), -kInfinity);
  EXPECT_EQ(of_floats("min"), kInfinity);
  EXPECT_EQ(of_integers("max"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(of_integers("min"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(of_integers("or"), 0);
  EXPECT_EQ(of_integers("and"), -1);
}

TEST(Rows, MaxKeepsANan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto got = reduce_rows("max", "f32", 4, to_bytes(std::vector<float>{nan, 1, 2, 3, nan, 1}), 3);
  for (const float value : from_bytes<float>(got[1])) EXPECT_TRUE(std::isnan(value));
}

std::vector<float> run_row_phase_text(std::string_view phase, const std::vector<float>& in,
                                      const std::vector<float>& weight) {
  const auto got = run_text(fmt::format(R"(program scratch=0
buffer 0 input 400
buffer 1 constant 80
buffer 2 output 400
rows tasks=3 inner=20 dims=[5] row_tile=2
  s0 = buffer 0 f32 inner=4 strides=[80]
  s1 = buffer 2 f32 inner=4 strides=[80]
  s2 = buffer 1 f32 inner=4
  s3 = literal f32 bits=0x3f000000  # 0.5
  phase {}
)",
                                        phase),
                            {to_bytes(in), to_bytes(weight)});
  return from_bytes<float>(got[2]);
}

TEST(Rows, Softmax) {
  std::vector<float> in = random_floats(100);
  for (std::size_t p = 20; p < 40; ++p) in[p] += 1000;
  std::vector<double> softmax(100), logarithm(100);
  for (std::size_t row = 0; row < 5; ++row) {
    double sum = 0;
    for (std::size_t p = 0; p < 20; ++p) sum += std::exp(double{in[row * 20 + p]} - (row == 1 ? 1000 : 0));
    for (std::size_t p = 0; p < 20; ++p) {
      const double x = double{in[row * 20 + p]} - (row == 1 ? 1000 : 0);
      softmax[row * 20 + p] = std::exp(x) / sum;
      logarithm[row * 20 + p] = x - std::log(sum);
    }
  }
  expect_close(run_row_phase_text("softmax from=s0 to=s1", in, std::vector<float>(20)), softmax);
  expect_close(run_row_phase_text("log_softmax from=s0 to=s1", in, std::vector<float>(20)), logarithm);
}

TEST(Rows, SoftmaxOfNothingButInfinityIsNan) {
  const std::vector<float> in(100, -std::numeric_limits<float>::infinity());
  for (const float value : run_row_phase_text("softmax from=s0 to=s1", in, std::vector<float>(20)))
    EXPECT_TRUE(std::isnan(value));
}

TEST(Rows, Norms) {
  const std::vector<float> in = random_floats(100);
  const std::vector<float> weight = random_floats(20, 9);
  for (const bool centre : {true, false}) {
    for (const bool affine : {true, false}) {
      std::vector<double> expected(100);
      for (std::size_t row = 0; row < 5; ++row) {
        double mean = 0, squares = 0;
        for (std::size_t p = 0; p < 20 && centre; ++p) mean += in[row * 20 + p] / 20.0;
        for (std::size_t p = 0; p < 20; ++p) squares += (in[row * 20 + p] - mean) * (in[row * 20 + p] - mean);
        for (std::size_t p = 0; p < 20; ++p) {
          const double x = (in[row * 20 + p] - mean) / std::sqrt(squares / 20 + 0.5);
          expected[row * 20 + p] = affine ? x * weight[p] + weight[p] : x;
        }
      }
      const std::string phase =
          fmt::format("{} from=s0 to=s1 weight={} bias={} eps=s3", centre ? "layer_norm" : "rms_norm",
                      affine ? "s2" : "none", affine ? "s2" : "none");
      expect_close(run_row_phase_text(phase, in, weight), expected);
    }
  }
}

TEST(Columns, ReduceTheLastOuterDims) {
  // out[b][p] = sum over i, j of in[b][i][j][p] + max of it
  const std::vector<float> in = random_floats(2 * 3 * 4 * 20);
  const auto got = run_text(R"(program scratch=64
buffer 0 input 1920
buffer 1 output 160
columns tasks=6 inner=20 dims=[2,3,4] reduced=2 inner_tile=8
  s0 = buffer 0 f32 inner=4 strides=[960,320,80]
  s1 = accumulator f32 reduce=sum target=0
  s2 = accumulator f32 offset=32 reduce=max target=0
  s3 = scratch f32 inner=4
  s4 = scratch f32 offset=32 inner=4
  s5 = buffer 1 f32 inner=4 strides=[80,0,0]
  phase strip accumulator=1 count=2
    load_f32.f32.unit s0
    acc_sum.f32 s1
    acc_max.f32 s2
    end.f32
  phase strip
    load_f32.f32.unit s3
    add.f32 s4
    store_f32.f32.unit s5
    end.f32
)",
                            {to_bytes(in)});
  std::vector<double> expected(40);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t p = 0; p < 20; ++p) {
      double sum = 0, max = -10;
      for (std::size_t r = 0; r < 12; ++r)
        sum += in[(b * 12 + r) * 20 + p], max = std::max(max, double{in[(b * 12 + r) * 20 + p]});
      expected[b * 20 + p] = sum + max;
    }
  }
  expect_close(from_bytes<float>(got[1]), expected);
}

TEST(Columns, OfNoRowsGiveTheIdentity) {
  const auto got = run_text(R"(program scratch=16
buffer 0 input 0
buffer 1 output 16
columns tasks=1 inner=4 dims=[0] reduced=1 inner_tile=4
  s0 = buffer 0 f32 inner=4 strides=[16]
  s1 = accumulator f32 reduce=prod target=0
  s2 = scratch f32 inner=4
  s3 = buffer 1 f32 inner=4
  phase strip accumulator=1 count=1
    load_f32.f32.unit s0
    acc_prod.f32 s1
    end.f32
  phase strip
    load_f32.f32.unit s2
    store_f32.f32.unit s3
    end.f32
)",
                            {});
  EXPECT_EQ(from_bytes<float>(got[1]), std::vector<float>(4, 1.0f));
}

std::vector<double> matmul(const std::vector<float>& a, const std::vector<float>& b, std::size_t batch, std::size_t m,
                           std::size_t k, std::size_t n) {
  std::vector<double> c(batch * m * n);
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t row = 0; row < m; ++row) {
      for (std::size_t s = 0; s < k; ++s) {
        for (std::size_t column = 0; column < n; ++column)
          c[(i * m + row) * n + column] += double{a[(i * m + row) * k + s]} * b[(i * k + s) * n + column];
      }
    }
  }
  return c;
}

TEST(MatMul, ReadsBInPlaceInAnyOrder) {
  const std::vector<float> a = random_floats(2 * 5 * 12);
  const std::vector<float> b = random_floats(2 * 12 * 14, 3);
  std::vector<float> transposed(b.size());
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 12; ++k) {
      for (std::size_t n = 0; n < 14; ++n) transposed[(i * 14 + n) * 12 + k] = b[(i * 12 + k) * 14 + n];
    }
  }
  for (const bool turned : {false, true}) {
    const auto got = run_text(fmt::format(R"(program scratch=0
buffer 0 input 480
buffer 1 input 1344
buffer 2 output 560
matmul tasks=12 inner=14 dims=[2,5] k=12 m_tile=2 n_tile=9 k_block=4 panel=0
  s0 = buffer 0 f32 inner=4 strides=[240,48]
  s1 = buffer 1 f32 inner={} strides=[672,{}]
  s2 = buffer 2 f32 inner=4 strides=[280,56]
)",
                                          turned ? 48 : 4, turned ? 4 : 56),
                              {to_bytes(a), to_bytes(turned ? transposed : b)});
    expect_close(from_bytes<float>(got[2]), matmul(a, b, 2, 5, 12, 14));
  }
}

TEST(MatMul, WithPackedBAndEpilogue) {
  const std::vector<float> a = random_floats(2 * 5 * 12);
  const std::vector<float> b = random_floats(2 * 12 * 14, 3);
  const std::vector<float> bias = random_floats(14, 5);
  const auto got = run_text(R"(program scratch=0
buffer 0 input 480
buffer 1 input 1344
buffer 2 constant 56
buffer 3 packed 1536
buffer 4 output 560
pack tasks=8 inner=14 dims=[2,12] panel=4
  s0 = buffer 1 f32 inner=4 strides=[672,56]
  s1 = buffer 3 f32 strides=[768,0]
matmul tasks=8 inner=14 dims=[2,5] k=12 m_tile=3 n_tile=8 k_block=12 panel=4
  s0 = buffer 0 f32 inner=4 strides=[240,48]
  s1 = buffer 3 f32 strides=[768,0]
  s2 = tile f32 inner=4
  s3 = buffer 2 f32 inner=4
  s4 = buffer 4 f32 inner=4 strides=[280,56]
  phase strip
    load_f32.f32.unit s2
    add.f32 s3
    store_f32.f32.unit s2
    abs.f32
    add.f32 s2
    store_f32.f32.unit s4
    end.f32
)",
                            {to_bytes(a), to_bytes(b), to_bytes(bias)});
  std::vector<double> expected = matmul(a, b, 2, 5, 12, 14);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double x = expected[i] + bias[i % 14];
    expected[i] = x + std::fabs(x);
  }
  expect_close(from_bytes<float>(got[4]), expected);
}

TEST(MatMul, SumsOfNothingAreZero) {
  const auto got = run_text(R"(program scratch=0
buffer 0 output 24
matmul tasks=1 inner=3 dims=[2] k=0 m_tile=2 n_tile=3 k_block=1 panel=0
  s0 = buffer 0 f32 inner=4
  s1 = buffer 0 f32 inner=4
  s2 = buffer 0 f32 inner=4 strides=[12]
)",
                            {to_bytes(random_floats(6))});
  EXPECT_EQ(from_bytes<float>(got[0]), std::vector<float>(6));
}

TEST(Pack, FillsTheLastPanelWithZeros) {
  const std::vector<float> b = random_floats(3 * 7);
  const auto got = run_text(R"(program scratch=0
buffer 0 constant 84
buffer 1 packed 96
pack tasks=2 inner=7 dims=[3] panel=4
  s0 = buffer 0 f32 inner=4 strides=[28]
  s1 = buffer 1 f32
)",
                            {to_bytes(b)});
  const auto panels = from_bytes<float>(got[1]);
  for (std::size_t panel = 0; panel < 2; ++panel) {
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t n = 0; n < 4; ++n)
        EXPECT_EQ(panels[(panel * 3 + k) * 4 + n], panel * 4 + n < 7 ? b[k * 7 + panel * 4 + n] : 0);
    }
  }
}

// batch 2, heads 4 over 2 kv heads, 3 queries, 7 keys, depth 8, value size 5; mask[q][t] shared by batch and heads.
std::vector<float> run_attention(const std::vector<std::vector<float>>& qkv, bool causal, std::string_view mask_dtype,
                                 const Bytes& mask) {
  const int size = mask_dtype == "bool" ? 1 : 4;
  const auto got = run_text(fmt::format(R"(program scratch=0
buffer 0 input 768
buffer 1 input 896
buffer 2 input 560
buffer 3 input {}
buffer 4 output 480
attention tasks=16 inner=5 dims=[2,4,3] kv_heads=2 keys=7 depth=8 causal={} empty_is_nan=0 scale=4602678819172646912 query_tile=2 key_tile=4
  s0 = buffer 0 f32 inner=4 strides=[384,96,32]
  s1 = buffer 1 f32 inner=4 strides=[448,224,32]
  s2 = buffer 2 f32 inner=4 strides=[280,140,20]
  s3 = buffer 4 f32 inner=4 strides=[240,60,20]
{})",
                                        mask.size(), causal ? 1 : 0,
                                        mask.empty() ? ""
                                                     : fmt::format("  s4 = buffer 3 {} inner={} strides=[0,0,{}]\n",
                                                                   mask_dtype, size, 7 * size)),
                            {to_bytes(qkv[0]), to_bytes(qkv[1]), to_bytes(qkv[2]), mask});
  return from_bytes<float>(got[4]);
}

template <typename Added>
std::vector<double> attention(const std::vector<std::vector<float>>& qkv, Added added) {
  std::vector<double> out(2 * 4 * 3 * 5);
  for (std::size_t bh = 0; bh < 8; ++bh) {
    const std::size_t kv = bh / 4 * 2 + bh % 4 / 2;
    for (std::size_t s = 0; s < 3; ++s) {
      double sum = 0;
      std::vector<double> weight(7);
      for (std::size_t t = 0; t < 7; ++t) {
        double score = 0;
        for (std::size_t d = 0; d < 8; ++d)
          score += double{qkv[0][(bh * 3 + s) * 8 + d]} * qkv[1][(kv * 7 + t) * 8 + d];
        sum += weight[t] = std::exp(score * 0.5 + added(s, t));
      }
      for (std::size_t t = 0; t < 7 && sum > 0; ++t) {
        for (std::size_t e = 0; e < 5; ++e) out[(bh * 3 + s) * 5 + e] += weight[t] / sum * qkv[2][(kv * 7 + t) * 5 + e];
      }
    }
  }
  return out;
}

TEST(Attention, GroupsHeadsAndScales) {
  const std::vector<std::vector<float>> qkv = {random_floats(192, 1), random_floats(224, 2), random_floats(140, 3)};
  expect_close(run_attention(qkv, false, "f32", {}), attention(qkv, [](std::size_t, std::size_t) { return 0.0; }));
}

TEST(Attention, CausalLooksBackOnly) {
  const std::vector<std::vector<float>> qkv = {random_floats(192, 1), random_floats(224, 2), random_floats(140, 3)};
  expect_close(run_attention(qkv, true, "f32", {}),
               attention(qkv, [](std::size_t s, std::size_t t) { return t <= s ? 0.0 : -INFINITY; }));
}

TEST(Attention, AddsAFloatMaskAndARowOfNothingIsZero) {
  const std::vector<std::vector<float>> qkv = {random_floats(192, 1), random_floats(224, 2), random_floats(140, 3)};
  std::vector<float> mask = random_floats(21, 4);
  for (std::size_t t = 0; t < 7; ++t) mask[7 + t] = -std::numeric_limits<float>::infinity();
  expect_close(run_attention(qkv, false, "f32", to_bytes(mask)),
               attention(qkv, [&](std::size_t s, std::size_t t) { return double{mask[s * 7 + t]}; }));
}

TEST(Attention, ABoolMaskSaysWhereItAttends) {
  const std::vector<std::vector<float>> qkv = {random_floats(192, 1), random_floats(224, 2), random_floats(140, 3)};
  std::vector<std::uint8_t> mask(21);
  for (std::size_t i = 0; i < 14; ++i) mask[i] = i % 3 == 0;
  expect_close(run_attention(qkv, false, "bool", to_bytes(mask)),
               attention(qkv, [&](std::size_t s, std::size_t t) { return mask[s * 7 + t] ? 0.0 : -INFINITY; }));
}

TEST(ReferenceMachine, SaysWhatItIs) {
  const std::unique_ptr<Machine> machine = make_reference_machine();
  const BackendTraits& traits = machine->traits();
  EXPECT_EQ(traits.name, "reference");
  EXPECT_EQ(traits.strip_elements, 64);
  EXPECT_EQ(traits.matmul_panel, 16);
}

}  // namespace
}  // namespace tilewright::vm::reference
