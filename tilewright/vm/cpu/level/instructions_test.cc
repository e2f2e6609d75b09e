// Instructions of movement, order, lines, windows and random numbers on every level against the reference machine:
// random sizes of all tails, tiles, dtypes and strides, at aligned and misaligned addresses, with nothing written
// beyond them.
#include "tilewright/vm/cpu/level/strip_testing.h"

namespace tilewright::vm::testing {
namespace {

using isa::Space;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kTails[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 200};
constexpr DType kDTypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                             DType::kU8,  DType::kI16, DType::kI32, DType::kI64,  DType::kBool};

struct Draw {
  std::mt19937_64 random;
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  }
  template <typename List>
  auto of(const List& list) {
    return list[below(std::ssize(list))];
  }
  std::int64_t tail() { return of(kTails); }
  std::int64_t tile(std::int64_t size) { return below(3) == 0 ? size : 1 + below(size); }
};

// One buffer: what it holds, and whether the instruction writes it.
struct Room {
  DType dtype;
  std::int64_t count;
  bool written = false;
  double low = 0, high = 0;  // of its numbers; equal: any numbers at all
};

void fill_room(TestMemory& memory, const Room& room, Draw& draw) {
  if (room.low == room.high) return fill(memory, room.dtype, draw.random);
  for (std::int64_t i = 0; i < room.count; ++i) {
    const double unit = static_cast<double>(draw.random() >> 11) * 0x1p-53;
    const double value = room.low + unit * (room.high - room.low);
    visit(room.dtype, [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) {
        memory.set<T>(i, static_cast<T>(std::floor(value)));
      } else {
        memory.set<T>(i, static_cast<T>(static_cast<float>(value)));
      }
    });
  }
}

template <typename T>
bool is_near(T a, T e, double tolerance) {
  if constexpr (std::is_integral_v<T>) {
    return a == e;
  } else {
    const auto x = static_cast<double>(a), y = static_cast<double>(e);
    return x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= tolerance * std::max(1.0, std::fabs(y));
  }
}

void expect_room(const TestMemory& actual, const TestMemory& expected, const Room& room, double tolerance,
                 const std::string& where) {
  ASSERT_TRUE(actual.intact()) << where;
  visit(room.dtype, [&]<typename T>() {
    for (std::int64_t i = 0; i < room.count; ++i) {
      const T a = actual.get<T>(i), e = expected.get<T>(i);
      ASSERT_TRUE(is_near(a, e, tolerance))
          << where << ", element " << i << ": " << static_cast<double>(a) << " instead of " << static_cast<double>(e);
    }
  });
}

// Buffers in the order of `rooms`, all with the same content for each machine.
void compare(const isa::Program& program, const std::vector<Room>& rooms, Draw& draw, double tolerance = 0) {
  expect_valid(program);
  if (::testing::Test::HasFatalFailure()) return;
  for (const std::int64_t misalign : {0, 8, 20, 1}) {
    std::vector<std::unique_ptr<TestMemory>> first;
    for (const Room& room : rooms) {
      first.push_back(std::make_unique<TestMemory>(room.count * byte_size(room.dtype), misalign));
      fill_room(*first.back(), room, draw);
    }
    const auto expected = after_run(reference(), program, first, misalign);
    for (TestLevel& level : levels()) {
      const auto actual = after_run(*level.machine, program, first, misalign);
      for (std::size_t i = 0; i < rooms.size(); ++i) {
        expect_room(
            *actual[i], *expected[i], rooms[i], rooms[i].written ? tolerance : 0,
            fmt::format("buffer {} on {}, misaligned by {}\n{}", i, level.name, misalign, isa::disassemble(program)));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

Sizes bytes_of(const std::vector<Room>& rooms) {
  Sizes out;
  for (const Room& room : rooms) out.push_back(room.count * byte_size(room.dtype));
  return out;
}

template <typename Body>
void sweep(int cases, std::uint64_t seed, Body body) {
  for (int i = 0; i < cases; ++i) {
    Draw draw{std::mt19937_64(seed * 1000 + static_cast<std::uint64_t>(i))};
    SCOPED_TRACE(::testing::Message() << "case " << i);
    body(draw);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Transpose, EqualsTheReference) {
  sweep(160, 1, [](Draw& draw) {
    const DType dtype = draw.of(kDTypes);
    const std::int64_t e = byte_size(dtype), batch = 1 + draw.below(2), rows = draw.tail();
    const std::int64_t n = draw.below(2) == 0 ? draw.tail() : 2 * (1 + draw.below(2));
    const std::int64_t from = rows + draw.below(3), to = n + draw.below(3);
    const std::int64_t step = draw.below(4) == 0 ? 0 : from * e;  // 0: each element n times
    const std::vector<Room> rooms{{dtype, batch * n * from}, {dtype, batch * rows * to, true}};
    compare(one_instruction(isa::TransposeFields{draw.tile(rows), draw.tile(n)}, {batch, rows}, n,
                            {{Space::kBuffer, dtype, 0, 0, step, {n * from * e, e}},
                             {Space::kBuffer, dtype, 1, 0, e, {rows * to * e, to * e}}},
                            {}, bytes_of(rooms)),
            rooms, draw);
  });
}

// x: [size, width], to: [rows, n]: to[r, p] = x[index[r], p] or, `per_element`, x[index[r, p], p].
TEST(Gather, EqualsTheReference) {
  sweep(120, 2, [](Draw& draw) {
    const DType dtype = draw.of(kDTypes), index = draw.below(2) == 0 ? DType::kI64 : DType::kI32;
    const std::int64_t e = byte_size(dtype), ie = byte_size(index), rows = draw.tail(), n = draw.tail();
    const std::int64_t size = 1 + draw.below(40), step = 1 + draw.below(2);
    const bool per_element = draw.below(2) == 0;
    const std::int64_t width = n * step;
    const std::vector<Room> rooms{
        {dtype, size * width},
        {dtype, rows * n * step, true},
        {index, per_element ? rows * n : rows, false, -static_cast<double>(size), static_cast<double>(size)}};
    compare(one_instruction(isa::GatherFields{draw.tile(rows), draw.tile(n)}, {rows}, n,
                            {{Space::kBuffer, dtype, 0, 0, step * e, {0}},
                             {Space::kBuffer, dtype, 1, 0, step * e, {n * step * e}},
                             {Space::kBuffer, index, 2, 0, per_element ? ie : 0, {per_element ? n * ie : ie}},
                             {Space::kIota, DType::kI64, 0, size, width * e, {0}}},
                            {}, bytes_of(rooms)),
            rooms, draw);
  });
}

// to[index[r], p] combined with from[r, p], rows in order.
TEST(Scatter, EqualsTheReference) {
  sweep(120, 3, [](Draw& draw) {
    const std::int64_t mode = draw.below(5);
    DType dtype = draw.of(kDTypes);
    if (mode != 0 && (dtype == DType::kF16 || dtype == DType::kBF16)) dtype = DType::kF32;
    const std::int64_t e = byte_size(dtype), rows = draw.tail(), n = draw.tail(), size = 1 + draw.below(20);
    const double low = dtype == DType::kU8 || dtype == DType::kBool ? 0 : -3, high = dtype == DType::kBool ? 2 : 4;
    const auto reach = static_cast<double>(size);
    const std::vector<Room> rooms{{dtype, size * n, true, low, high},
                                  {dtype, rows * n, false, low, high},
                                  {DType::kI64, rows, false, -reach, reach}};
    compare(one_instruction(isa::ScatterFields{mode, 1, draw.tile(n)}, {rows}, n,
                            {{Space::kBuffer, dtype, 0, 0, e, {0}},
                             {Space::kBuffer, dtype, 1, 0, e, {n * e}},
                             {Space::kBuffer, DType::kI64, 2, 0, 0, {8}},
                             {Space::kIota, DType::kI64, 0, size, n * e, {0}}},
                            {}, bytes_of(rooms)),
            rooms, draw, 1e-5);
  });
}

TEST(Scan, EqualsTheReference) {
  sweep(160, 4, [](Draw& draw) {
    const std::int64_t kind = draw.below(4), rows = 1 + draw.below(9), n = draw.tail();
    const std::int64_t exclusive = kind < 2 ? draw.below(2) : 0;
    DType dtype = draw.of(kDTypes);
    if (dtype == DType::kBool) dtype = DType::kI64;
    const std::int64_t e = byte_size(dtype), step = 1 + draw.below(2);
    const bool positions = kind >= 2 && draw.below(2) == 0, along_rows = draw.below(2) == 0;
    const bool sums = kind < 2;
    const std::vector<Room> rooms{
        {dtype, rows * n * step, false, sums && is_float(dtype) ? -1.5 : 0, sums && is_float(dtype) ? 1.5 : 0},
        {dtype, rows * n * step, true},
        {DType::kI64, rows * n, true}};
    const auto stream = [&](std::uint32_t buffer) {
      return along_rows ? TestStream{Space::kBuffer, dtype, buffer, 0, step * e, {n * step * e}}
                        : TestStream{Space::kBuffer, dtype, buffer, 0, rows * e, {e}};
    };
    std::vector<TestStream> streams{stream(0), stream(1)};
    if (positions) streams.push_back({Space::kBuffer, DType::kI64, 2, 0, 8, {n * 8}});
    compare(one_instruction(isa::ScanFields{kind, exclusive, draw.tile(rows)}, {rows}, n, streams, {}, bytes_of(rooms)),
            rooms, draw, 2e-2 * (dtype == DType::kF16 || dtype == DType::kBF16) + 1e-6);
  });
}

TEST(ArgReduce, EqualsTheReference) {
  sweep(160, 5, [](Draw& draw) {
    const DType dtype = draw.of(kDTypes);
    const std::int64_t e = byte_size(dtype), rows = draw.tail(), n = draw.tail(), step = 1 + draw.below(2);
    const bool along_rows = draw.below(2) == 0;
    std::vector<Room> rooms{{dtype, rows * n * step}, {DType::kI64, rows, true}};
    if (draw.below(2) == 0) rooms[0].high = dtype == DType::kBool ? 2 : 3;  // many equals
    compare(one_instruction(isa::ArgReduceFields{draw.below(2), draw.below(2), draw.tile(rows)}, {rows}, n,
                            {along_rows ? TestStream{Space::kBuffer, dtype, 0, 0, step * e, {n * step * e}}
                                        : TestStream{Space::kBuffer, dtype, 0, 0, rows * e, {e}},
                             {Space::kBuffer, DType::kI64, 1, 0, 0, {8}}},
                            {}, bytes_of(rooms)),
            rooms, draw);
  });
}

TEST(Sort, EqualsTheReference) {
  sweep(160, 6, [](Draw& draw) {
    const DType dtype = draw.of(kDTypes);
    const std::int64_t e = byte_size(dtype), rows = 1 + draw.below(6), n = draw.tail(), count = draw.tile(n);
    std::vector<Room> rooms{{dtype, rows * n}, {dtype, rows * count, true}, {DType::kI64, rows * count, true}};
    if (draw.below(2) == 0) rooms[0].high = dtype == DType::kBool ? 2 : 5;  // many equals
    compare(one_instruction(isa::SortFields{count, draw.below(2), draw.tile(rows)}, {rows}, n,
                            {{Space::kBuffer, dtype, 0, 0, e, {n * e}},
                             {Space::kBuffer, dtype, 1, 0, e, {count * e}},
                             {Space::kBuffer, DType::kI64, 2, 0, 8, {count * 8}}},
                            {}, bytes_of(rooms)),
            rooms, draw);
  });
}

TEST(NonZero, EqualsTheReference) {
  sweep(120, 7, [](Draw& draw) {
    const DType dtype = draw.of(kDTypes);
    const std::int64_t e = byte_size(dtype), rows = 1 + draw.below(9), n = draw.tail();
    const std::int64_t limit = draw.below(3) == 0 ? -1 : draw.below(rows * n + 5);
    const std::vector<Room> rooms{{dtype, rows * n, false, 0, dtype == DType::kBool ? 2.0 : 1.5},
                                  {DType::kI64, std::max<std::int64_t>(1, 2 * limit), true}};
    compare(one_instruction(isa::NonZeroFields{limit, 16}, {rows}, n,
                            {{Space::kBuffer, dtype, 0, 0, e, {n * e}}, {Space::kBuffer, DType::kI64, 1, 0, 8, {0}}},
                            {}, bytes_of(rooms)),
            rooms, draw);
  });
}

// A window over three axes, and a bias of each output channel.
struct Window {
  std::int64_t in[3], out[3], size[3], stride[3], low[3], dilation[3], spread[3];

  // Of two axes, with large windows and steps.
  static Window large(Draw& draw, std::int64_t widest = 80) {
    Window w(draw, false);
    w.in[2] = 1 + draw.below(draw.below(4) == 0 ? widest : 80), w.in[1] = 1 + draw.below(12);
    for (int axis = 1; axis < 3; ++axis) {
      w.size[axis] = 1 + draw.below(13), w.stride[axis] = 1 + draw.below(6), w.low[axis] = draw.below(w.size[axis]);
      w.fit(axis);
    }
    return w;
  }

  void make_flat() { in[0] = size[0] = stride[0] = out[0] = 1, low[0] = 0; }

  Window(Draw& draw, bool spreads) {
    for (int axis = 0; axis < 3; ++axis) {
      in[axis] = axis == 2 ? 1 + draw.below(40) : axis == 1 ? 1 + draw.below(6) : 1 + draw.below(2);
      size[axis] = 1 + draw.below(axis == 0 ? 2 : 3), stride[axis] = 1 + draw.below(2);
      low[axis] = draw.below(3), dilation[axis] = 1 + draw.below(2);
      spread[axis] = spreads && draw.below(4) == 0 ? 2 : 1;
      fit(axis);
    }
  }
  void fit(int axis) {
    const std::int64_t reach = (in[axis] - 1) * spread[axis] + low[axis] - (size[axis] - 1) * dilation[axis];
    out[axis] = std::max<std::int64_t>(1, reach / stride[axis] + 1);
  }
  std::int64_t plane() const { return in[0] * in[1] * in[2]; }
  std::int64_t taps() const { return size[0] * size[1] * size[2]; }
  std::int64_t positions() const { return out[0] * out[1] * out[2]; }
};

struct ConvCase {
  DType dtype;
  std::int64_t groups, channels, outs;
  bool turned = false;  // channels of x side by side
};

void compare_conv(Draw& draw, const Window& w, const ConvCase& c) {
  const std::int64_t e = byte_size(c.dtype), batch = 1 + draw.below(2), p = w.positions();
  const std::int64_t terms = c.channels * w.taps(), all = c.groups * c.channels;
  const std::vector<Room> rooms{{c.dtype, batch * all * w.plane(), false, -2, 3},
                                {c.dtype, c.groups * c.outs * terms, false, -2, 3},
                                {c.dtype, batch * c.groups * c.outs * p, true},
                                {c.dtype, c.groups * c.outs, false, -2, 3}};
  const std::int64_t step = c.turned ? all * e : e, channel = c.turned ? e : w.plane() * e;
  std::vector<TestStream> streams{
      {Space::kBuffer, c.dtype, 0, 0, step, {all * w.plane() * e, c.channels * channel, channel}},
      {Space::kBuffer, c.dtype, 1, 0, e, {0, c.outs * terms * e, terms * e}},
      {Space::kBuffer, c.dtype, 2, 0, e, {c.groups * c.outs * p * e, c.outs * p * e, p * e}}};
  if (draw.below(2) == 0) streams.push_back({Space::kBuffer, c.dtype, 3, 0, 0, {0, c.outs * e, e}});
  const isa::ConvFields fields{c.channels,     w.in[0],
                               w.in[1],        w.in[2],
                               w.out[1],       w.out[2],
                               w.size[0],      w.size[1],
                               w.size[2],      w.stride[0],
                               w.stride[1],    w.stride[2],
                               w.low[0],       w.low[1],
                               w.low[2],       w.dilation[0],
                               w.dilation[1],  w.dilation[2],
                               w.spread[0],    w.spread[1],
                               w.spread[2],    w.in[1] * w.in[2] * step,
                               w.in[2] * step, draw.tile(c.outs),
                               draw.tile(p)};
  compare(one_instruction(fields, {batch, c.groups, c.outs}, p, streams, {}, bytes_of(rooms)), rooms, draw, 1e-4);
}

TEST(Conv, EqualsTheReference) {
  sweep(150, 9, [](Draw& draw) {
    static constexpr DType kOf[] = {DType::kF32, DType::kF32, DType::kF64, DType::kI32, DType::kI64};
    const DType dtype = draw.of(kOf);
    const Window w(draw, true);
    compare_conv(draw, w, {dtype, 1 + draw.below(3), 1 + draw.below(5), 1 + draw.below(19), draw.below(3) == 0});
  });
}

TEST(Conv, OfOneChannelEachEqualsTheReference) {
  sweep(120, 12, [](Draw& draw) {
    Window w = draw.below(2) == 0 ? Window::large(draw) : Window(draw, false);
    w.make_flat();
    compare_conv(draw, w, {DType::kF32, 1 + draw.below(9), 1, 1 + draw.below(2)});
  });
}

TEST(PoolInstruction, EqualsTheReference) {
  sweep(200, 10, [](Draw& draw) {
    static constexpr DType kOf[] = {DType::kF32, DType::kF64, DType::kI32, DType::kI64};
    const std::int64_t kind = draw.below(2);
    const DType dtype = kOf[draw.below(kind == 0 ? 4 : 2)];
    const Window w = draw.below(3) == 0 ? Window::large(draw, 5000) : Window(draw, false);
    const std::int64_t e = byte_size(dtype), batch = 1 + draw.below(2), channels = 1 + draw.below(9), p = w.positions();
    std::vector<Room> rooms{{dtype, batch * channels * w.plane()},
                            {dtype, batch * channels * p, true},
                            {DType::kI64, batch * channels * p, true}};
    if (kind == 1) rooms[0].low = -2, rooms[0].high = 3;
    std::vector<TestStream> streams{{Space::kBuffer, dtype, 0, 0, e, {channels * w.plane() * e, w.plane() * e}},
                                    {Space::kBuffer, dtype, 1, 0, e, {channels * p * e, p * e}}};
    if (kind == 0 && draw.below(2) == 0)
      streams.push_back({Space::kBuffer, DType::kI64, 2, 0, 8, {channels * p * 8, p * 8}});
    const isa::PoolFields fields{kind,
                                 kind * draw.below(2),
                                 kind * draw.below(2) * 3,
                                 w.in[0],
                                 w.in[1],
                                 w.in[2],
                                 w.out[1],
                                 w.out[2],
                                 w.size[0],
                                 w.size[1],
                                 w.size[2],
                                 w.stride[0],
                                 w.stride[1],
                                 w.stride[2],
                                 w.low[0],
                                 w.low[1],
                                 w.low[2],
                                 w.dilation[0],
                                 w.dilation[1],
                                 w.dilation[2],
                                 w.in[1] * w.in[2] * e,
                                 w.in[2] * e,
                                 draw.tile(channels)};
    compare(one_instruction(fields, {batch, channels}, p, streams, {}, bytes_of(rooms)), rooms, draw, 1e-5);
  });
}

TEST(RandomNumbers, EqualTheReference) {
  sweep(80, 8, [](Draw& draw) {
    const std::int64_t distribution = draw.below(3), n = draw.tail() * (1 + draw.below(20));
    static constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
    static constexpr DType kIntegers[] = {DType::kI32, DType::kI64};
    const DType dtype = distribution == 2 ? draw.of(kIntegers) : draw.of(kFloats);
    const std::vector<Room> rooms{{DType::kI64, 2, false, 0, 1e9}, {dtype, n, true}};
    compare(one_instruction(
                isa::RandomFields{distribution, 2 * (1 + draw.below(n))}, {}, n,
                {{Space::kBuffer, DType::kI64, 0, 0, 8, {}}, {Space::kBuffer, dtype, 1, 0, byte_size(dtype), {}}}, {},
                bytes_of(rooms)),
            rooms, draw,
            dtype == DType::kBF16  ? 1e-2
            : dtype == DType::kF16 ? 2e-3
                                   : 1e-5);
  });
}

}  // namespace
}  // namespace tilewright::vm::testing
