// Loads and stores: every dtype to and from every lane, every form, slots, iota and conversions out of range.
#include <fmt/format.h>

#include <bit>
#include <limits>

#include "tilewright/isa/strip_facts.h"
#include "tilewright/vm/reference/run_text.h"

namespace tilewright::vm::reference {
namespace {

constexpr DType kLanes[] = {DType::kF32, DType::kI32, DType::kF64, DType::kI64};

// Copies n elements of `from` to `to` through lanes of `lane`, with a program in between.
std::vector<Bytes> copy_through(DType from, DType lane, DType to, const Bytes& input, std::int64_t from_stride,
                                std::int64_t to_stride, std::string_view load_form, std::string_view store_form,
                                std::int64_t n) {
  const std::string text =
      fmt::format(R"(program scratch=0
buffer 0 input {}
buffer 1 output {}
map tasks=1 inner={} dims=[] row_tile=1 inner_tile={}
  s0 = buffer 0 {} inner={}
  s1 = buffer 1 {} inner={}
  phase strip
    load_{}.{}.{} s0
    store_{}.{}.{} s1
    end.{}
)",
                  input.size(), n == 0 ? 0 : (n - 1) * to_stride + byte_size(to), n, n, to_string(from), from_stride,
                  to_string(to), to_stride, to_string(from), to_string(lane), load_form, to_string(to), to_string(lane),
                  store_form, to_string(lane));
  return run_text(text, {input});
}

// v as an element of dtype T: what fits any dtype.
template <typename T>
T element(double v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(v));
  else
    return static_cast<T>(v);
}
TEST(StripMemory, EveryDTypePassesEveryLane) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kI16,
                            DType::kI32, DType::kI64}) {
    for (const DType lane : kLanes) {
      visit(dtype, [&]<typename Stored>() {
        using T =
            std::conditional_t<std::is_same_v<Stored, bool>, std::uint8_t, Stored>;  // bool is not in the list above
        std::vector<T> input;
        for (int i = 0; i < 100; ++i) input.push_back(element<T>(dtype == DType::kU8 || i % 2 == 0 ? i : -i));
        const auto size = static_cast<std::int64_t>(sizeof(T));
        const auto got = copy_through(dtype, lane, dtype, to_bytes(input), size, size, "unit", "unit", 100);
        ASSERT_EQ(got.size(), 2u);
        EXPECT_EQ(got[1], to_bytes(input)) << to_string(dtype) << " through " << to_string(lane);
      });
    }
  }
}

TEST(StripMemory, FractionsTruncateOnTheWayToIntegers) {
  const std::vector<float> input = {1.75f, -1.75f, 2.5f, -0.5f};
  for (const DType lane : {DType::kI32, DType::kI64}) {
    const auto got = copy_through(DType::kF32, lane, DType::kI16, to_bytes(input), 4, 2, "unit", "unit", 4);
    EXPECT_EQ(from_bytes<std::int16_t>(got[1]), (std::vector<std::int16_t>{1, -1, 2, 0}));
  }
  const auto stored = copy_through(DType::kF32, DType::kF32, DType::kI8, to_bytes(input), 4, 1, "unit", "unit", 4);
  EXPECT_EQ(from_bytes<std::int8_t>(stored[1]), (std::vector<std::int8_t>{1, -1, 2, 0}));
}

TEST(StripMemory, FloatsOutOfRangeGiveTheLowestInteger) {
  const float huge = 3e20f;
  const std::vector<float> input = {huge, -huge, std::numeric_limits<float>::quiet_NaN(), 3e9f, -2147483648.0f};
  constexpr std::int64_t kLow64 = std::numeric_limits<std::int64_t>::min();
  constexpr std::int32_t kLow32 = std::numeric_limits<std::int32_t>::min();
  const auto to64 = copy_through(DType::kF32, DType::kF32, DType::kI64, to_bytes(input), 4, 8, "unit", "unit", 5);
  EXPECT_EQ(from_bytes<std::int64_t>(to64[1]), (std::vector<std::int64_t>{kLow64, kLow64, kLow64, 3000000000, kLow32}));
  const auto to32 = copy_through(DType::kF32, DType::kI32, DType::kI32, to_bytes(input), 4, 4, "unit", "unit", 5);
  EXPECT_EQ(from_bytes<std::int32_t>(to32[1]), (std::vector<std::int32_t>{kLow32, kLow32, kLow32, kLow32, kLow32}));
  const auto to8 = copy_through(DType::kF32, DType::kF32, DType::kU8, to_bytes(std::vector<float>{-1, 300, huge}), 4, 1,
                                "unit", "unit", 3);
  EXPECT_EQ(from_bytes<std::uint8_t>(to8[1]), (std::vector<std::uint8_t>{255, 44, 0}));
}

TEST(StripMemory, IntegersWrapWhenTheyNarrow) {
  const std::vector<std::int64_t> input = {300, -300, 1ll << 40 | 5, -1};
  const auto to32 = copy_through(DType::kI64, DType::kI32, DType::kI32, to_bytes(input), 8, 4, "unit", "unit", 4);
  EXPECT_EQ(from_bytes<std::int32_t>(to32[1]), (std::vector<std::int32_t>{300, -300, 5, -1}));
  const auto to8 = copy_through(DType::kI64, DType::kI64, DType::kI8, to_bytes(input), 8, 1, "unit", "unit", 4);
  EXPECT_EQ(from_bytes<std::int8_t>(to8[1]), (std::vector<std::int8_t>{44, -44, 5, -1}));
}

TEST(StripMemory, HalvesRoundToNearestEven) {
  const std::vector<float> input = {1 + 0x1p-11f, 1 + 0x3p-11f, 65520, 1e-8f};
  const auto got = copy_through(DType::kF32, DType::kF32, DType::kF16, to_bytes(input), 4, 2, "unit", "unit", 4);
  EXPECT_EQ(from_bytes<std::uint16_t>(got[1]), (std::vector<std::uint16_t>{0x3c00, 0x3c02, 0x7c00, 0}));
}

TEST(StripMemory, StridesMayBeAnyNumberOfBytes) {
  std::vector<std::int32_t> input(300);
  for (int i = 0; i < 300; ++i) input[static_cast<std::size_t>(i)] = i;
  const auto got =
      copy_through(DType::kI32, DType::kI32, DType::kI32, to_bytes(input), 12, 8, "strided", "strided", 100);
  const auto out = from_bytes<std::int32_t>(got[1]);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i % 2 == 0 ? static_cast<int>(i) / 2 * 3 : 0) << i;
}

TEST(StripMemory, OneElementFillsTheStrip) {
  const auto got = copy_through(DType::kI16, DType::kF32, DType::kF32, to_bytes(std::vector<std::int16_t>{-7}), 0, 4,
                                "one", "unit", 70);
  EXPECT_EQ(from_bytes<float>(got[1]), std::vector<float>(70, -7.0f));
}

TEST(StripMemory, BoolsAreMasks) {
  for (const std::string_view lane : {"i32", "i64"}) {
    const std::string text = fmt::format(R"(program scratch=0
buffer 0 input 3
buffer 1 output 3
map tasks=1 inner=3 dims=[] row_tile=1 inner_tile=3
  s0 = buffer 0 bool inner=1
  s1 = buffer 1 bool inner=1
  phase strip
    load_bool.{0}.unit s0
    not.{0}
    store_bool.{0}.unit s1
    end.{0}
)",
                                         lane);
    const auto got = run_text(text, {to_bytes(std::vector<std::uint8_t>{1, 0, 1})});
    EXPECT_EQ(from_bytes<std::uint8_t>(got[1]), (std::vector<std::uint8_t>{0, 1, 0}));
  }
}

TEST(StripMemory, IotaCountsAlongEveryDim) {
  const auto got = run_text(R"(program scratch=0
buffer 0 output 5600
map tasks=8 inner=70 dims=[4,5] row_tile=3 inner_tile=128
  s0 = iota i64 offset=-5 inner=3 strides=[1000,10]
  s1 = buffer 0 f32 inner=4 strides=[1400,280]
  phase strip
    load_iota.f32.strided s0
    store_f32.f32.unit s1
    end.f32
)",
                            {});
  const auto out = from_bytes<float>(got[0]);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 5; ++j) {
      for (int p = 0; p < 70; ++p)
        EXPECT_EQ(out[static_cast<std::size_t>((i * 5 + j) * 70 + p)],
                  static_cast<float>(-5 + 1000 * i + 10 * j + 3 * p));
    }
  }
}

TEST(StripMemory, ASlotCarriesAValueThroughTheStrip) {
  std::vector<float> input(200);
  for (int i = 0; i < 200; ++i) input[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const auto got = run_text(R"(program scratch=512
buffer 0 input 800
buffer 1 output 800
map tasks=1 inner=200 dims=[] row_tile=1 inner_tile=256
  s0 = buffer 0 f32 inner=4
  s1 = buffer 1 f32 inner=4
  s2 = slot f32 inner=4
  phase strip
    load_f32.f32.unit s0
    store_f32.f32.unit s2
    mul.f32 s2
    add.f32 s2
    store_f32.f32.unit s1
    end.f32
)",
                            {to_bytes(input)});
  const auto out = from_bytes<float>(got[1]);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(out[i], input[i] * input[i] + input[i]);
}

}  // namespace
}  // namespace tilewright::vm::reference
