// The block_dot instruction on every level and on the reference machine, against sums in double over weights that are
// unpacked here: sizes, block sizes, zero points, dtypes of a, panels of another machine; and that the bits of a row do
// not depend on its neighbours.
#include <gtest/gtest.h>

#include <cmath>

#include "tilewright/isa/panels.h"
#include "tilewright/vm/cpu/level/matmul_testing.h"

namespace tilewright::vm {
namespace {

using testing::Memory;
using testing::Stream;

std::vector<std::unique_ptr<Machine>>& machines() {
  static std::vector<std::unique_ptr<Machine>> all = [] {
    std::vector<std::unique_ptr<Machine>> made;
    made.push_back(make_reference_machine());
    for (const std::string_view level : cpu_levels()) made.push_back(make_cpu_machine({std::string(level)}).value());
    return made;
  }();
  return all;
}

struct Problem {
  std::int64_t m = 1, n = 1, k = 1, block = 16;
  DType left = DType::kF32;
  bool zeros = false;
  std::int64_t panel = 0;  // 0: of the machine
  std::int64_t m_tile = 1 << 30, n_tile = 1 << 30;

  std::string text() const {
    return fmt::format("m {} n {} k {} block {} {} zeros {} panel {} tiles {} {}", m, n, k, block, to_string(left),
                       zeros, panel, m_tile, n_tile);
  }
};

// Random panels: q words, scales, zeros. The rest of a block behind k holds numbers that must not count.
struct Weight {
  std::vector<std::uint32_t> q;
  std::vector<float> scales, zeros;
  std::int64_t block, blocks, panel;

  Weight(const Problem& p, std::int64_t width, std::mt19937& random)
      : block(p.block), blocks(isa::tiles_of(p.k, p.block)), panel(width) {
    const std::int64_t rows = isa::tiles_of(p.n, panel) * blocks;
    for (std::int64_t i = 0; i < rows * panel; ++i) {
      scales.push_back(static_cast<float>(random() % 1000) / 1000 - 0.3f);
      zeros.push_back(static_cast<float>(random() % 16));
    }
    for (std::int64_t i = 0; i < rows * panel * block / 8; ++i) q.push_back(static_cast<std::uint32_t>(random()));
  }
  double at(std::int64_t k, std::int64_t n, bool own_zeros) const {
    const std::int64_t row = n / panel * blocks + k / block;
    const std::uint32_t word = q[static_cast<std::size_t>((row * block + k % block) / 8 * panel + n % panel)];
    const auto parameter = static_cast<std::size_t>(row * panel + n % panel);
    const double number = word >> k % 8 * 4 & 15u;
    return double{scales[parameter]} * (number - (own_zeros ? double{zeros[parameter]} : 8.0));
  }
};

template <typename T>
std::byte* bytes_of(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

std::vector<double> run(Machine& machine, const Problem& p, unsigned seed, std::vector<double>* want = nullptr,
                        std::vector<double>* magnitude = nullptr) {
  const std::int64_t panel = p.panel == 0 ? machine.traits().matmul_panel : p.panel, size = byte_size(p.left);
  std::mt19937 random(seed);
  Weight weight(p, panel, random);
  Memory a(p.left, p.m * p.k), c(DType::kF32, p.m * p.n);
  a.fill(random, p.m * p.k);
  const Stream panels{.inner_stride = 4, .strides = {0}};
  Stream q = panels, scales = panels, zeros = panels;
  q.buffer = 1;
  scales.buffer = 3;
  zeros.buffer = 4;
  if (!p.zeros) zeros = {.space = isa::Space::kLiteral, .offset = 0x41000000, .inner_stride = 0, .strides = {0}};
  isa::Program program;
  program.words = testing::encode(
      isa::BlockDotFields{p.k, p.m_tile, isa::tiles_of(p.n_tile, panel) * panel, p.block, panel}, {p.m}, p.n,
      {{.dtype = p.left, .buffer = 0, .inner_stride = size, .strides = {p.k * size}},
       q,
       {.buffer = 2, .strides = {p.n * 4}},
       scales,
       zeros});
  const auto bytes = [](const auto& values) { return static_cast<std::int64_t>(values.size() * 4); };
  program.buffers = {{isa::BufferKind::kInput, p.m * p.k * size},
                     {isa::BufferKind::kPacked, bytes(weight.q)},
                     {isa::BufferKind::kOutput, p.m * p.n * 4},
                     {isa::BufferKind::kPacked, bytes(weight.scales)},
                     {isa::BufferKind::kPacked, bytes(weight.zeros)}};
  const Status verified = isa::verify_program(program);
  EXPECT_TRUE(verified.ok()) << p.text() << ": " << (verified.ok() ? "" : verified.error().message);
  std::byte* buffers[] = {a.data(), bytes_of(weight.q), c.data(), bytes_of(weight.scales), bytes_of(weight.zeros)};
  EXPECT_TRUE(machine.run(program.words, 0, buffers).ok());
  EXPECT_TRUE(c.intact()) << p.text();
  std::vector<double> got;
  for (std::int64_t i = 0; i < p.m * p.n; ++i) {
    got.push_back(c.get(i));
    if (want == nullptr) continue;
    double sum = 0, sizes = 0;
    for (std::int64_t k = 0; k < p.k; ++k) {
      const double left = a.get(i / p.n * p.k + k);
      sum += left * weight.at(k, i % p.n, p.zeros);
      sizes += std::abs(left) * 16;
    }
    want->push_back(sum);
    magnitude->push_back(sizes);
  }
  return got;
}

void check(const Problem& p, unsigned seed = 1) {
  for (auto& machine : machines()) {
    std::vector<double> want, magnitude;
    const std::vector<double> got = run(*machine, p, seed, &want, &magnitude);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], magnitude[i] * 0x1p-22 + 1e-6)
          << machine->traits().name << " " << p.text() << " element " << i;
    }
  }
}

TEST(BlockDot, SizesBlocksZerosAndDTypes) {
  std::mt19937 random(3);
  const auto pick = [&](auto... values) {
    const std::int64_t list[] = {static_cast<std::int64_t>(values)...};
    return list[random() % (sizeof list / sizeof *list)];
  };
  for (int i = 0; i < 300; ++i) {
    Problem p{.m = pick(1, 2, 3, 4, 5, 9),
              .n = pick(1, 7, 8, 15, 16, 17, 33, 48, 97),
              .k = pick(0, 1, 15, 16, 17, 40, 64, 200),
              .block = pick(16, 32, 64, 128)};
    p.left = random() % 2 ? DType::kF32 : random() % 2 ? DType::kF16 : DType::kBF16;
    p.zeros = random() % 2 == 0;
    if (random() % 8 == 0) p.panel = pick(1, 5, 16, 20);
    p.m_tile = pick(1, 3, 1 << 30);
    p.n_tile = pick(1, 48, 1 << 30);
    ASSERT_NO_FATAL_FAILURE(check(p, static_cast<unsigned>(i)));
  }
}

TEST(BlockDot, LongSums) {
  check({.m = 2, .n = 20, .k = 70000, .block = 256, .zeros = true});
}

TEST(BlockDot, BitsOfARowDoNotDependOnItsNeighbours) {
  for (auto& machine : machines()) {
    const auto first = run(*machine, {.m = 1, .n = 60, .k = 300, .block = 32, .zeros = true}, 9);
    for (const std::int64_t m : {2, 3, 4, 5, 9}) {
      const auto more = run(*machine, {.m = m, .n = 60, .k = 300, .block = 32, .zeros = true}, 9);
      for (std::size_t i = 0; i < first.size(); ++i)
        ASSERT_EQ(more[i], first[i]) << machine->traits().name << " m " << m;
    }
  }
}

}  // namespace
}  // namespace tilewright::vm
