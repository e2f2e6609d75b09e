// Recording without Python: random reads and writes of views of one storage, run by an interpreter of the recorded ops
// against memory that is written at once.
#include "src/stream_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace tilewright::python {
namespace {

constexpr std::int64_t kSizes[] = {4, 1};
constexpr std::int64_t kAddOne = -1;  // an op of the test: its operand plus 1
using Numbers = std::vector<std::int64_t>;

std::vector<std::vector<std::int64_t>>& kinds() {
  static auto* const all = new std::vector<std::vector<std::int64_t>>;
  return *all;
}

std::int64_t movement(StreamMove move, std::int32_t, std::span<const std::int64_t> numbers) {
  Numbers kind = {static_cast<std::int64_t>(move)};
  kind.insert(kind.end(), numbers.begin(), numbers.end());
  kinds().push_back(kind);
  return static_cast<std::int64_t>(kinds().size()) - 1;
}
constexpr StreamLibrary kLibrary{kSizes, &movement};

Numbers positions(const StreamLayout& own) {
  Numbers all = {own.offset};
  for (std::size_t axis = 0; axis < own.shape().size(); ++axis) {
    Numbers next;
    for (const std::int64_t at : all) {
      for (std::int64_t i = 0; i < own.sizes[axis]; ++i) next.push_back(at + i * own.strides[axis]);
    }
    all = std::move(next);
  }
  return all;
}

Numbers gathered(const Numbers& memory, const StreamLayout& layout) {
  Numbers values;
  for (const std::int64_t at : positions(layout)) values.push_back(memory[static_cast<std::size_t>(at)]);
  return values;
}

StreamLayout sliced(StreamLayout layout, std::int64_t axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  const auto at = static_cast<std::size_t>(axis);
  layout.offset += start * layout.strides[at];
  layout.sizes[at] = (stop - start + step - 1) / step;
  layout.strides[at] *= step;
  return layout;
}

class Interpreter {
 public:
  Interpreter(const StreamProgram& program, Numbers& memory) : program_(program), memory_(memory) {}

  void run() {
    for (const StreamInput& input : program_.inputs()) values_[input.value] = gathered(memory_, input.layout);
    for (const StreamProgram::Op& op : program_.ops()) values_[op.first_result] = result(op);
    for (const auto& [input, value] : program_.writes()) {
      const StreamLayout& layout = program_.inputs()[static_cast<std::size_t>(input)].layout;
      const Numbers at = positions(layout);
      for (std::size_t i = 0; i < at.size(); ++i) memory_[static_cast<std::size_t>(at[i])] = values_.at(value)[i];
    }
  }
  const Numbers& value(int number) const { return values_.at(number); }

 private:
  Numbers result(const StreamProgram::Op& op) const {
    const auto refs = program_.refs(op);
    const auto ints = program_.ints(op);
    Numbers source = values_.at(refs[0]);
    if (op.op.id == kAddOne) {
      for (std::int64_t& number : source) ++number;
      return source;
    }
    const Numbers& kind = kinds()[static_cast<std::size_t>(op.op.id)];
    const StreamLayout own = contiguous_layout(0, program_.values()[static_cast<std::size_t>(refs[0])].shape());
    switch (static_cast<StreamMove>(kind[0])) {
      case StreamMove::kView:
        return source;
      case StreamMove::kPermute: {
        StreamLayout moved = own;
        for (std::size_t i = 1; i < kind.size(); ++i) {
          moved.sizes[i - 1] = own.sizes[static_cast<std::size_t>(kind[i])];
          moved.strides[i - 1] = own.strides[static_cast<std::size_t>(kind[i])];
        }
        return gathered(source, moved);
      }
      case StreamMove::kSlice:
        return gathered(source, sliced(own, kind[1], ints[0], ints[1], kind[2]));
      case StreamMove::kSliceScatter:
        break;
    }
    const Numbers at = positions(sliced(own, kind[1], ints[0], ints[1], kind[2]));
    for (std::size_t i = 0; i < at.size(); ++i) source[static_cast<std::size_t>(at[i])] = values_.at(refs[1])[i];
    return source;
  }

  const StreamProgram& program_;
  Numbers& memory_;
  std::map<int, Numbers> values_;
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  // A view of a 4 x 6 matrix: slices, picks, turned, or of its 24 elements in a row.
  StreamLayout view() {
    constexpr std::int64_t kMatrix[] = {4, 6}, kRow[] = {24};
    StreamLayout layout = below(4) == 0 ? contiguous_layout(0, kRow) : contiguous_layout(0, kMatrix);
    for (std::int64_t axis = 0; axis < layout.rank; ++axis) {
      if (below(3) == 0) continue;
      const std::int64_t size = layout.sizes[static_cast<std::size_t>(axis)], start = below(size);
      layout = sliced(layout, axis, start, start + 1 + below(size - start), 1 + below(2));
    }
    if (layout.rank == 2 && below(3) == 0) {
      std::swap(layout.sizes[0], layout.sizes[1]);
      std::swap(layout.strides[0], layout.strides[1]);
    }
    return layout;
  }

 private:
  std::mt19937 random_;
};

// Adds 1 to random views of one storage, reading others between. Returns how often recording could not go on.
int run_random(unsigned seed, bool is_own, int steps) {
  Draw draw(seed);
  Numbers memory(24), eager(24);
  for (std::size_t i = 0; i < 24; ++i) memory[i] = eager[i] = static_cast<std::int64_t>(100 * i);
  StreamProgram program(kLibrary);
  const auto add_one = [&](int value, const StreamLayout& layout) {
    const StreamLayout row = contiguous_layout(0, layout.shape());
    return program.add_op({kAddOne, 0}, {&value, 1}, {}, {}, {&row, 1});
  };
  constexpr std::int64_t kMatrix[] = {4, 6};
  const StreamLayout whole = contiguous_layout(0, kMatrix);
  if (is_own) {
    program.add_own(1, whole, add_one(program.read(2, whole), whole));
    for (std::int64_t& number : eager) ++number;
  }
  std::vector<std::pair<int, Numbers>> seen;
  int hazards = 0;
  for (int step = 0; step < steps; ++step) {
    const StreamLayout layout = draw.view();
    if (draw.below(2) == 0) {
      const int value = program.read(1, layout);
      if (value < 0) {
        ++hazards;
      } else {
        seen.emplace_back(value, gathered(eager, layout));
      }
      continue;
    }
    if (!program.can_write(1, layout)) {
      ++hazards;
      continue;
    }
    const int value = program.read(1, layout);
    if (value < 0 || !program.can_write(1, layout)) {
      ++hazards;
      continue;
    }
    program.write(1, layout, add_one(value, layout));
    for (const std::int64_t at : positions(layout)) ++eager[static_cast<std::size_t>(at)];
  }
  program.close();
  Interpreter interpreter(program, memory);
  interpreter.run();
  for (const auto& [value, want] : seen) EXPECT_EQ(interpreter.value(value), want) << "seed " << seed;
  EXPECT_EQ(is_own ? interpreter.value(program.content(1).second) : memory, eager) << "seed " << seed;
  return hazards;
}

TEST(StreamProgram, RandomWritesToPartsOfMemoryFromOutside) {
  int hazards = 0;
  for (unsigned seed = 0; seed < 3'000; ++seed) hazards += run_random(seed, false, 6);
  EXPECT_LT(hazards, 3'000 * 6 / 3);
}

TEST(StreamProgram, RandomWritesToPartsOfOwnStorage) {
  int hazards = 0;
  for (unsigned seed = 0; seed < 3'000; ++seed) hazards += run_random(seed, true, 8);
  EXPECT_LT(hazards, 3'000 * 8 / 10);
}

TEST(StreamProgram, InputsOfOneStorageNeverOverlapWhereOneIsWritten) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Draw draw(seed);
    StreamProgram program(kLibrary);
    for (int step = 0; step < 6; ++step) {
      const StreamLayout layout = draw.view();
      const int value = program.read(1, layout);
      if (value >= 0 && program.can_write(1, layout)) program.write(1, layout, value);
    }
    program.close();
    for (const auto& [written, value] : program.writes()) {
      const StreamLayout& own = program.inputs()[static_cast<std::size_t>(written)].layout;
      for (std::size_t i = 0; i < program.inputs().size(); ++i) {
        if (static_cast<int>(i) == written) continue;
        for (const std::int64_t at : positions(program.inputs()[i].layout)) {
          EXPECT_EQ(std::ranges::count(positions(own), at), 0) << "seed " << seed;
        }
      }
    }
  }
}

TEST(StreamProgram, ManyPartsOfMuchMemoryAreAHazard) {
  constexpr std::int64_t kLarge[] = {64, 1024};
  const StreamLayout whole = contiguous_layout(0, kLarge);
  StreamProgram program(kLibrary);
  program.add_own(1, whole, program.read(2, whole));
  int written = 0;
  for (std::int64_t row = 0; row < 64; ++row) {
    const StreamLayout part = sliced(whole, 0, row, row + 1, 1);
    if (!program.can_write(1, part)) break;
    program.write(1, part, program.read(1, part));
    ++written;
  }
  EXPECT_EQ(written, 8);
}

}  // namespace
}  // namespace tilewright::python
