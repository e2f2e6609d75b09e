// The dot and pack instructions on every level of this machine and on the reference machine: bytes against exact sums
// in i32 at all small sizes, signs, zero points, strides and tiles, bf16 against sums in double; and that the bits of a
// bf16 row do not depend on the rows beside it.
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
    if (auto vnni = make_cpu_machine({"avx2_vnni"}); vnni.ok()) made.push_back(std::move(vnni).value());
    return made;
  }();
  return all;
}

enum class Zero { kNone, kLiteral, kOne, kEach };

struct Problem {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  DType left = DType::kU8, right = DType::kI8;
  bool a_columns = false, b_columns = false, one_b = false;
  bool packed = true;
  std::int64_t foreign_panel = 0;  // packed for another machine
  Zero a_zero = Zero::kNone, b_zero = Zero::kNone;
  std::int64_t m_tile = 1 << 30, n_tile = 1 << 30, k_block = 1 << 20;

  std::string text() const {
    return fmt::format("batch {} m {} n {} k {} {} x {} columns {} {} one_b {} packed {} {} zeros {} {} tiles {} {} {}",
                       batch, m, n, k, to_string(left), to_string(right), a_columns, b_columns, one_b, packed,
                       foreign_panel, static_cast<int>(a_zero), static_cast<int>(b_zero), m_tile, n_tile, k_block);
  }
};

void fill_all(Memory& memory, DType dtype, std::int64_t count, std::mt19937& random) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (dtype == DType::kBF16) {
      memory.set(i, static_cast<double>(random() & 0xffff) / 32768.0 - 1.0);
    } else {
      const int byte = random() % 5 == 0 ? static_cast<int>(random() % 2 * 255) : static_cast<int>(random() & 255);
      memory.set(i, dtype == DType::kU8 ? byte : byte - 128);
    }
  }
}

// A zero point operand: its stream, and the value of entry i.
struct ZeroPoint {
  Memory memory;
  Stream stream;
  Zero kind;
  double literal = 0;
  double at(std::int64_t i) {
    return kind == Zero::kNone ? 0 : kind == Zero::kLiteral ? literal : memory.get(kind == Zero::kOne ? 0 : i);
  }
};

ZeroPoint make_zero(Zero kind, DType dtype, std::int64_t count, std::uint32_t buffer, bool columns,
                    std::mt19937& random) {
  ZeroPoint zero{Memory(dtype, count), {.dtype = dtype, .buffer = buffer, .inner_stride = 0, .strides = {0, 0}}, kind};
  fill_all(zero.memory, dtype, count, random);
  if (kind == Zero::kEach) (columns ? zero.stream.inner_stride : zero.stream.strides[1]) = 1;
  if (kind == Zero::kNone || kind == Zero::kLiteral) {
    const int byte = kind == Zero::kNone ? 0 : static_cast<int>(random() & 255);
    zero.literal = dtype == DType::kI8 ? static_cast<signed char>(byte) : byte;
    zero.stream.space = isa::Space::kLiteral;
    zero.stream.buffer = 0;
    zero.stream.offset = byte;
  }
  return zero;
}

struct Outcome {
  Memory c;
  std::vector<double> want, magnitude;
};

Outcome run(Machine& machine, const Problem& p, unsigned seed) {
  std::mt19937 random(seed);
  const bool bytes = p.left != DType::kBF16;
  const std::int64_t a_size = byte_size(p.left), b_size = byte_size(p.right), b_batches = p.one_b ? 1 : p.batch;
  Memory a(p.left, p.batch * p.m * p.k), b(p.right, b_batches * p.k * p.n);
  fill_all(a, p.left, p.batch * p.m * p.k, random);
  fill_all(b, p.right, b_batches * p.k * p.n, random);
  ZeroPoint a_zero = make_zero(p.a_zero, p.left, p.m, 4, false, random);
  ZeroPoint b_zero = make_zero(p.b_zero, p.right, p.n, 5, true, random);
  const std::int64_t panel = !p.packed ? 0 : p.foreign_panel != 0 ? p.foreign_panel : machine.traits().matmul_panel;
  std::int64_t panels = 0;
  if (panel != 0) isa::count_panel_bytes(p.right, p.k, p.n, panel, panels);
  Memory packed(DType::kI8, b_batches * panels);
  Outcome out{Memory(bytes ? DType::kI32 : DType::kF32, p.batch * p.m * p.n), {}, {}};
  const std::int64_t a_row = p.a_columns ? 1 : p.k, a_step = p.a_columns ? p.m : 1;
  const std::int64_t b_row = p.b_columns ? 1 : p.n, b_step = p.b_columns ? p.k : 1;
  const std::int64_t b_batch = p.one_b ? 0 : p.k * p.n;
  const Stream a_stream{
      .dtype = p.left, .buffer = 0, .inner_stride = a_step * a_size, .strides = {p.m * p.k * a_size, a_row * a_size}};
  const Stream b_stream{
      .dtype = p.right, .buffer = 1, .inner_stride = b_step * b_size, .strides = {b_batch * b_size, b_row * b_size}};
  const Stream c_stream{
      .dtype = bytes ? DType::kI32 : DType::kF32, .buffer = 2, .inner_stride = 4, .strides = {p.m * p.n * 4, p.n * 4}};
  const Stream panel_stream{
      .dtype = p.right, .buffer = 3, .inner_stride = b_size, .strides = {p.one_b ? 0 : panels, 0}};
  isa::Program program;
  std::int64_t n_tile = p.n_tile;
  if (panel != 0) {
    program.words = testing::encode(isa::PackFields{panel}, {b_batches, p.k}, p.n, {b_stream, panel_stream});
    n_tile = isa::tiles_of(n_tile, panel) * panel;
  }
  const auto more =
      testing::encode(isa::DotFields{p.k, p.m_tile, n_tile, p.k_block, panel}, {p.batch, p.m}, p.n,
                      {a_stream, panel == 0 ? b_stream : panel_stream, c_stream, a_zero.stream, b_zero.stream});
  program.words.insert(program.words.end(), more.begin(), more.end());
  program.buffers = {{isa::BufferKind::kInput, p.batch * p.m * p.k * a_size},
                     {isa::BufferKind::kInput, b_batches * p.k * p.n * b_size},
                     {isa::BufferKind::kOutput, p.batch * p.m * p.n * 4},
                     {isa::BufferKind::kPacked, b_batches * panels},
                     {isa::BufferKind::kInput, p.m},
                     {isa::BufferKind::kInput, p.n}};
  const Status verified = isa::verify_program(program);
  EXPECT_TRUE(verified.ok()) << p.text() << ": " << (verified.ok() ? "" : verified.error().message);
  std::byte* buffers[] = {a.data(), b.data(), out.c.data(), packed.data(), a_zero.memory.data(), b_zero.memory.data()};
  EXPECT_TRUE(machine.run(program.words, 0, buffers).ok());
  EXPECT_TRUE(out.c.intact() && packed.intact()) << p.text();
  for (std::int64_t i = 0; i < p.batch * p.m * p.n; ++i) {
    const std::int64_t n = i % p.n, m = i / p.n % p.m, batch = i / (p.n * p.m);
    double sum = 0, magnitude = 0;
    for (std::int64_t k = 0; k < p.k; ++k) {
      const double term = (a.get(batch * p.m * p.k + m * a_row + k * a_step) - a_zero.at(m)) *
                          (b.get(batch * b_batch + k * b_row + n * b_step) - b_zero.at(n));
      sum += term;
      magnitude += std::abs(term);
    }
    out.want.push_back(sum);
    out.magnitude.push_back(magnitude);
  }
  return out;
}

void check(const Problem& p, unsigned seed = 1) {
  for (auto& machine : machines()) {
    Outcome got = run(*machine, p, seed);
    for (std::size_t i = 0; i < got.want.size(); ++i) {
      const double value = got.c.get(static_cast<std::int64_t>(i));
      const double tolerance =
          p.left != DType::kBF16 ? 0 : got.magnitude[i] * 0x1p-24 * static_cast<double>(p.k + 2) + 1e-30;
      ASSERT_NEAR(value, got.want[i], tolerance) << machine->traits().name << " " << p.text() << " element " << i;
    }
  }
}

TEST(Dot, BytesOfAllSizes) {
  for (const std::int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 13}) {
    for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 31, 48, 49, 97}) {
      for (const std::int64_t k : {1, 2, 3, 4, 5, 31, 64}) check({.m = m, .n = n, .k = k}, 3);
    }
  }
}

TEST(Dot, HalvesOfAllSizes) {
  for (const std::int64_t m : {1, 2, 5, 8, 9}) {
    for (const std::int64_t n : {1, 15, 16, 17, 48, 49, 97}) {
      for (const std::int64_t k : {1, 2, 3, 31, 64}) {
        check({.m = m, .n = n, .k = k, .left = DType::kBF16, .right = DType::kBF16}, 4);
      }
    }
  }
}

TEST(Dot, SignsZeroPointsStridesAndTiles) {
  std::mt19937 random(7);
  const auto pick = [&](auto... values) {
    const std::int64_t list[] = {static_cast<std::int64_t>(values)...};
    return list[random() % (sizeof list / sizeof *list)];
  };
  for (int i = 0; i < 400; ++i) {
    Problem p{.batch = pick(1, 1, 2, 3),
              .m = pick(1, 2, 5, 9, 17, 33),
              .n = pick(1, 8, 15, 33, 48, 97, 130),
              .k = pick(0, 1, 3, 4, 7, 64, 65, 127)};
    p.left = random() % 2 ? DType::kU8 : DType::kI8;
    p.right = random() % 2 ? DType::kU8 : DType::kI8;
    p.a_columns = random() % 4 == 0;
    p.b_columns = random() % 2 == 0;
    p.one_b = random() % 3 == 0;
    p.packed = random() % 2 == 0;
    if (random() % 8 == 0) p.foreign_panel = pick(1, 5, 16, 20);
    p.a_zero = static_cast<Zero>(random() % 4);
    p.b_zero = static_cast<Zero>(random() % 4);
    if (random() % 8 == 0) p.left = p.right = DType::kBF16, p.a_zero = p.b_zero = Zero::kNone;
    p.m_tile = pick(1, 3, 8, 1 << 30);
    p.n_tile = pick(1, 16, 48, 1 << 30);
    p.k_block = pick(4, 12, 64, 1 << 20);
    ASSERT_NO_FATAL_FAILURE(check(p, static_cast<unsigned>(i)));
  }
}

TEST(Dot, LongSumsGoThroughScratchInParts) {
  check({.m = 3, .n = 50, .k = 20000, .a_zero = Zero::kEach, .b_zero = Zero::kOne});
  check({.m = 3, .n = 50, .k = 9000, .left = DType::kI8, .right = DType::kU8, .packed = false});
  check({.m = 2, .n = 20, .k = 9001, .left = DType::kBF16, .right = DType::kBF16});
}

TEST(Dot, SumsWrap) {
  Problem p{.m = 1, .n = 1, .k = 70000};
  for (auto& machine : machines()) {
    Memory a(DType::kU8, p.k), b(DType::kI8, p.k), c(DType::kI32, 1);
    for (std::int64_t i = 0; i < p.k; ++i) a.set(i, 255), b.set(i, -128);
    const Stream zero{.space = isa::Space::kLiteral, .dtype = DType::kU8, .inner_stride = 0, .strides = {0}};
    Stream b_zero = zero;
    b_zero.dtype = DType::kI8;
    const auto words = testing::encode(isa::DotFields{p.k, 1, 1, p.k, 0}, {1}, 1,
                                       {{.dtype = DType::kU8, .buffer = 0, .inner_stride = 1, .strides = {0}},
                                        {.dtype = DType::kI8, .buffer = 1, .inner_stride = 1, .strides = {1}},
                                        {.dtype = DType::kI32, .buffer = 2, .inner_stride = 4, .strides = {0}},
                                        zero,
                                        b_zero});
    std::byte* buffers[] = {a.data(), b.data(), c.data()};
    ASSERT_TRUE(machine->run(words, 0, buffers).ok());
    EXPECT_EQ(c.get(0), static_cast<double>(static_cast<std::int32_t>(-255LL * 128 * 70000))) << machine->traits().name;
  }
}

TEST(Dot, BitsOfARowDoNotDependOnItsNeighbours) {
  const std::int64_t k = 777, n = 100;
  for (auto& machine : machines()) {
    std::vector<Outcome> runs;
    // The first rows of a are the same for every m: they are filled first.
    for (const std::int64_t m : {1, 2, 5, 8, 9, 30}) {
      for (const bool packed : {true, false}) {
        Problem p{.m = m, .n = n, .k = k, .left = DType::kBF16, .right = DType::kBF16, .packed = packed};
        std::mt19937 random(5);
        Memory a(p.left, m * k), b(p.right, k * n), c(DType::kF32, m * n);
        fill_all(b, p.right, k * n, random);
        fill_all(a, p.left, m * k, random);
        const Stream zero{.space = isa::Space::kLiteral, .dtype = DType::kBF16, .inner_stride = 0, .strides = {0}};
        const auto words = testing::encode(isa::DotFields{k, 4, n, 200, 0}, {m}, n,
                                           {{.dtype = p.left, .buffer = 0, .inner_stride = 2, .strides = {k * 2}},
                                            {.dtype = p.right, .buffer = 1, .inner_stride = 2, .strides = {n * 2}},
                                            {.dtype = DType::kF32, .buffer = 2, .inner_stride = 4, .strides = {n * 4}},
                                            zero,
                                            zero});
        std::byte* buffers[] = {a.data(), b.data(), c.data()};
        ASSERT_TRUE(machine->run(words, 0, buffers).ok());
        runs.push_back({std::move(c), {}, {}});
      }
    }
    for (Outcome& other : runs) {
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(other.c.get(i), runs[0].c.get(i)) << machine->traits().name;
    }
  }
}

}  // namespace
}  // namespace tilewright::vm
