// The matmul and pack instructions on every level of this machine, against scalar sums in double: all small sizes,
// strides, broadcasts, dtypes and tiles; and that the bits of a row depend on that row and on b only.
#include <gtest/gtest.h>

#include <cmath>

#include "tilewright/vm/cpu/level/matmul_testing.h"

namespace tilewright::vm {
namespace {

using testing::Memory;
using testing::Stream;

std::unique_ptr<Machine> machine_of(std::string_view level) {
  return std::move(make_cpu_machine({.isa = std::string(level)})).value();
}

struct Problem {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  DType dtype = DType::kF32;
  bool a_columns = false;    // a lies column by column
  bool b_columns = false;    // b lies column by column
  bool one_b = false;        // the batches share b
  std::int64_t a_inner = 1;  // gaps between elements of a row of a
  std::int64_t panel = 0;    // b is packed: 1 stands for the width of the machine
  std::int64_t m_tile = 1 << 30, n_tile = 1 << 30, k_block = 1 << 20;
  std::vector<isa::Word> strip = {};
  bool bias = false;  // the strip adds stream 4, a row of n floats

  std::string text() const {
    return fmt::format(
        "batch {} m {} n {} k {} {} a_columns {} b_columns {} one_b {} a_inner {} panel {} tiles {} {} {}", batch, m, n,
        k, to_string(dtype), a_columns, b_columns, one_b, a_inner, panel, m_tile, n_tile, k_block);
  }
};

// Runs a problem; c holds the result, a and b what went in.
struct Outcome {
  Memory a, b, c, packed, bias;
  std::int64_t a_row = 0, a_step = 0, a_batch = 0, b_row = 0, b_step = 0, b_batch = 0;
};

DType packed_dtype(DType dtype) {
  if (dtype == DType::kF64 || dtype == DType::kI64) return dtype;
  return is_float(dtype) ? DType::kF32 : DType::kI32;
}

std::unique_ptr<Outcome> run(Machine& machine, const Problem& p, unsigned seed) {
  const std::int64_t size = byte_size(p.dtype);
  const std::int64_t a_count = p.batch * p.m * p.k * p.a_inner, b_count = (p.one_b ? 1 : p.batch) * p.k * p.n;
  const DType packed_type = packed_dtype(p.dtype);
  const std::int64_t panel = p.panel != 1 ? p.panel : machine.traits().matmul_panel * 4 / byte_size(packed_type);
  const std::int64_t panels = panel == 0 ? 0 : isa::tiles_of(p.n, panel) * panel * p.k;
  auto out = std::unique_ptr<Outcome>(new Outcome{Memory(p.dtype, a_count), Memory(p.dtype, b_count),
                                                  Memory(p.dtype, p.batch * p.m * p.n),
                                                  Memory(packed_type, p.batch * panels), Memory(DType::kF32, p.n)});
  std::mt19937 random(seed);
  out->a.fill(random, a_count);
  out->b.fill(random, b_count);
  out->bias.fill(random, p.n);
  out->a_row = p.a_columns ? 1 : p.k * p.a_inner;
  out->a_step = p.a_columns ? p.m : p.a_inner;
  out->a_batch = p.m * p.k * p.a_inner;
  out->b_row = p.b_columns ? 1 : p.n;
  out->b_step = p.b_columns ? p.k : 1;
  out->b_batch = p.one_b ? 0 : p.k * p.n;
  const Stream a{.dtype = p.dtype,
                 .buffer = 0,
                 .inner_stride = out->a_step * size,
                 .strides = {out->a_batch * size, out->a_row * size}};
  const Stream b{.dtype = p.dtype,
                 .buffer = 1,
                 .inner_stride = out->b_step * size,
                 .strides = {out->b_batch * size, out->b_row * size}};
  const Stream c{.dtype = p.dtype, .buffer = 2, .inner_stride = size, .strides = {p.m * p.n * size, p.n * size}};
  const std::int64_t packed_size = byte_size(packed_type);
  const Stream packed{
      .dtype = packed_type, .buffer = 3, .inner_stride = packed_size, .strides = {panels * packed_size, 0}};
  std::vector<isa::Word> words;
  std::int64_t n_tile = p.n_tile;
  if (panel != 0) {
    words = testing::encode(isa::PackFields{panel}, {p.batch, p.k}, p.n, {b, packed});
    n_tile = isa::tiles_of(n_tile, panel) * panel;
  }
  std::vector<Stream> streams = {a, panel == 0 ? b : packed, c};
  if (!p.strip.empty()) {
    streams[2] = {.space = isa::Space::kTile, .strides = {0, 0}};
    streams.push_back(c);
    streams.push_back({.buffer = 4, .strides = {0, 0}});
  }
  const auto more = testing::encode(isa::MatMulFields{p.k, p.m_tile, n_tile, p.k_block, panel}, {p.batch, p.m}, p.n,
                                    streams, p.strip);
  words.insert(words.end(), more.begin(), more.end());
  std::byte* buffers[] = {out->a.data(), out->b.data(), out->c.data(), out->packed.data(), out->bias.data()};
  EXPECT_TRUE(machine.run(words, 0, buffers).ok());
  EXPECT_TRUE(out->c.intact() && out->packed.intact()) << p.text();
  return out;
}

// Rounding of the inputs' dtype once, and of each step of the sum in the compute type.
double tolerance(const Problem& p, double sum_of_magnitudes) {
  if (!is_float(p.dtype)) return 0;
  const double step = p.dtype == DType::kF64 ? 0x1p-53 : 0x1p-24;
  const double result = p.dtype == DType::kF16 ? 0x1p-11 : p.dtype == DType::kBF16 ? 0x1p-8 : step;
  return sum_of_magnitudes * (step * static_cast<double>(p.k + 2) + 2 * result) + 1e-7;
}

double wrapped(DType dtype, double value) {
  if (is_float(dtype)) return value;
  const auto integer = static_cast<std::int64_t>(value);
  return visit(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return value;
    else
      return static_cast<double>(static_cast<T>(integer));
  });
}

void check(Machine& machine, const Problem& p, unsigned seed = 1) {
  auto out = run(machine, p, seed);
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    for (std::int64_t m = 0; m < p.m; ++m) {
      for (std::int64_t n = 0; n < p.n; ++n) {
        double sum = 0, magnitude = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const double product = out->a.get(batch * out->a_batch + m * out->a_row + k * out->a_step) *
                                 out->b.get(batch * out->b_batch + k * out->b_row + n * out->b_step);
          sum += product;
          magnitude += std::abs(product);
        }
        if (p.bias) sum = std::max(0.0, sum + out->bias.get(n));
        ASSERT_NEAR(out->c.get((batch * p.m + m) * p.n + n), wrapped(p.dtype, sum), tolerance(p, magnitude))
            << machine.traits().name << ": " << p.text() << " at " << batch << ", " << m << ", " << n;
      }
    }
  }
}

class MatMul : public ::testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Machine> machine = machine_of(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Levels, MatMul, ::testing::ValuesIn(cpu_levels().begin(), cpu_levels().end()),
                         [](const auto& info) { return std::string(info.param); });

const std::int64_t kSizes[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 97, 130};

TEST_P(MatMul, EverySmallShapeInPlace) {
  for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17}) {
    for (const std::int64_t n : kSizes) check(*machine, {.m = m, .n = n, .k = 1 + (m * 7 + n) % 40});
  }
}

TEST_P(MatMul, EverySmallShapePacked) {
  for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17}) {
    for (const std::int64_t n : kSizes) check(*machine, {.m = m, .n = n, .k = 1 + (m * 7 + n) % 40, .panel = 1});
  }
}

TEST_P(MatMul, PanelsOfOtherMachines) {
  for (const std::int64_t panel : {1, 5, 8, 16, 24, 48, 64}) {
    if (panel > 1) check(*machine, {.batch = 2, .m = 3, .n = 101, .k = 19, .panel = panel});
  }
}

TEST_P(MatMul, AnyStrides) {
  for (const bool a_columns : {false, true}) {
    for (const bool b_columns : {false, true}) {
      for (const std::int64_t a_inner : {1, 3}) {
        if (a_columns && a_inner > 1) continue;
        for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI16}) {
          check(*machine, {.batch = 2,
                           .m = 21,
                           .n = 67,
                           .k = 35,
                           .dtype = dtype,
                           .a_columns = a_columns,
                           .b_columns = b_columns,
                           .a_inner = a_inner});
        }
      }
    }
  }
}

TEST_P(MatMul, BatchesMayShareB) {
  check(*machine, {.batch = 5, .m = 4, .n = 50, .k = 20, .one_b = true});
  check(*machine, {.batch = 3, .m = 9, .n = 20, .k = 11, .b_columns = true, .one_b = true});
}

TEST_P(MatMul, EveryDType) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kI16,
                            DType::kI32, DType::kI64}) {
    for (const std::int64_t panel : {0, 1}) {
      check(*machine, {.m = 11, .n = 75, .k = 33, .dtype = dtype, .panel = panel});
      check(*machine, {.batch = 2, .m = 1, .n = 130, .k = 70, .dtype = dtype, .b_columns = true, .panel = panel});
    }
  }
}

TEST_P(MatMul, TilesAndBlocksCoverEverything) {
  for (const std::int64_t panel : {0, 1}) {
    for (const std::int64_t k_block : {1, 7, 64}) {
      check(*machine,
            {.batch = 2, .m = 37, .n = 203, .k = 100, .panel = panel, .m_tile = 8, .n_tile = 48, .k_block = k_block});
      check(*machine, {.m = 37, .n = 203, .k = 100, .panel = panel, .m_tile = 5, .n_tile = 144, .k_block = k_block});
    }
  }
}

TEST_P(MatMul, DepthsBeyondTheCopyBuffer) {
  check(*machine, {.m = 7, .n = 50, .k = 2500});
  check(*machine, {.m = 7, .n = 50, .k = 2500, .dtype = DType::kF16});
  check(*machine, {.m = 3, .n = 50, .k = 2500, .b_columns = true});
  check(*machine, {.m = 300, .n = 5, .k = 1030, .dtype = DType::kBF16});
}

TEST_P(MatMul, BlocksBeyondPrivateScratch) {
  check(*machine, {.m = 1000, .n = 5000, .k = 1, .dtype = DType::kF16});
}

TEST_P(MatMul, NoTermsGiveZero) {
  for (const std::int64_t panel : {0, 1}) {
    check(*machine, {.m = 5, .n = 70, .k = 0, .panel = panel});
    check(*machine, {.m = 5, .n = 70, .k = 0, .dtype = DType::kBF16, .panel = panel});
  }
}

TEST_P(MatMul, EmptyResults) {
  check(*machine, {.m = 0, .n = 70, .k = 5});
  check(*machine, {.m = 5, .n = 0, .k = 5});
  check(*machine, {.batch = 0, .m = 5, .n = 3, .k = 5});
}

TEST_P(MatMul, ARowDependsOnNothingElse) {
  constexpr std::int64_t kN = 113, kK = 211;
  for (const std::int64_t panel : {0, 1}) {
    auto whole = run(*machine, {.m = 40, .n = kN, .k = kK, .panel = panel}, 3);
    for (std::int64_t m = 1; m <= 40; ++m) {
      for (const std::int64_t k_block : {1 << 20, 50}) {
        Memory part(DType::kF32, m * kN);
        const std::int64_t width = panel == 0 ? 0 : machine->traits().matmul_panel;
        const Stream a{.inner_stride = 4, .strides = {kK * 4}}, b{.buffer = 1, .strides = {kN * 4}},
            c{.buffer = 2, .strides = {kN * 4}};
        const Stream packed{.buffer = 3, .strides = {0}};
        auto words = testing::encode(isa::MatMulFields{kK, 1 + m / 2, 48, k_block, width}, {m}, kN,
                                     {a, panel == 0 ? b : packed, c});
        std::byte* buffers[] = {whole->a.data(), whole->b.data(), part.data(), whole->packed.data()};
        ASSERT_TRUE(machine->run(words, 0, buffers).ok());
        ASSERT_EQ(std::memcmp(part.data(), whole->c.data(), static_cast<std::size_t>(m * kN * 4)), 0)
            << m << " " << panel;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::vm
