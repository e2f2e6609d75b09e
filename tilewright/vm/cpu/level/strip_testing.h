// For tests of strips, rows and columns: writes instructions and runs them on every level that this machine has, beside
// the reference machine. Memory has canary bytes around it, so that a store beyond the ends shows as a difference.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tilewright/isa/strip_facts.h"
#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::vm::testing {

using isa::Lane;
using isa::StripOp;
using isa::Word;

struct TestStream {
  isa::Space space = isa::Space::kBuffer;
  DType dtype = DType::kF32;
  std::uint32_t buffer = 0;
  std::int64_t offset = 0;
  std::int64_t inner_stride = 4;
  std::vector<std::int64_t> strides;
};
struct TestPhase {
  isa::PhaseOp op = isa::PhaseOp::kStrip;
  std::vector<Word> code;
  std::vector<std::uint16_t> operands;  // a, b, ..
};

// A program of one instruction, with its task count.
template <typename Fields>
isa::Program one_instruction(const Fields& fields, const std::vector<std::int64_t>& dims, std::int64_t inner,
                             const std::vector<TestStream>& streams, const std::vector<TestPhase>& phases,
                             const std::vector<std::int64_t>& buffer_bytes, std::int64_t scratch_bytes = 0) {
  isa::Program program;
  std::vector<Word>& words = program.words;
  words.resize(3);
  for (std::size_t i = 0; i < sizeof(Fields) / sizeof(Word); ++i) {
    Word word;
    std::memcpy(&word, reinterpret_cast<const char*>(&fields) + i * sizeof word, sizeof word);
    words.push_back(word);
  }
  for (const std::int64_t dim : dims) words.push_back(static_cast<Word>(dim));
  for (const TestStream& stream : streams) {
    words.push_back(isa::StreamHead::pack(stream.space, stream.dtype, stream.buffer));
    words.push_back(static_cast<Word>(stream.offset));
    words.push_back(static_cast<Word>(stream.inner_stride));
    for (std::size_t d = 0; d < dims.size(); ++d)
      words.push_back(d < stream.strides.size() ? static_cast<Word>(stream.strides[d]) : 0);
  }
  for (const TestPhase& phase : phases) {
    std::uint16_t operands[6] = {};
    for (std::size_t i = 0; i < phase.operands.size(); ++i) operands[i] = phase.operands[i];
    words.push_back(Word{static_cast<std::uint16_t>(phase.op)} | Word{phase.code.size()} << 16 |
                    Word{operands[0]} << 32 | Word{operands[1]} << 48);
    words.push_back(Word{operands[2]} | Word{operands[3]} << 16 | Word{operands[4]} << 32 | Word{operands[5]} << 48);
    words.insert(words.end(), phase.code.begin(), phase.code.end());
  }
  words[0] = isa::inst_head(Fields::kOpcode, static_cast<std::uint32_t>(words.size()), static_cast<int>(dims.size()),
                            static_cast<int>(streams.size()));
  words[2] = static_cast<Word>(inner);
  std::int64_t tasks = 0;
  isa::count_tasks(isa::tiling_of(isa::Inst(words.data()), fields), tasks);
  words[1] = static_cast<Word>(tasks);
  for (const std::int64_t bytes : buffer_bytes) program.buffers.push_back({isa::BufferKind::kOutput, bytes});
  program.scratch_bytes = scratch_bytes;
  return program;
}

// Bytes with canaries around them, at an address that is 64-byte aligned plus `misalign`.
class TestMemory {
 public:
  explicit TestMemory(std::int64_t bytes, std::int64_t misalign = 0)
      : bytes_(static_cast<std::size_t>(bytes) + 256, 0xa5), size_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    begin_ = static_cast<std::size_t>((64 - address % 64) % 64 + 64 + static_cast<std::uintptr_t>(misalign));
  }
  TestMemory(const TestMemory& other) : TestMemory(other.size_) { copy(other); }
  TestMemory& operator=(const TestMemory&) = delete;
  void copy(const TestMemory& other) { std::memcpy(data(), other.data(), static_cast<std::size_t>(size_)); }
  std::byte* data() { return reinterpret_cast<std::byte*>(bytes_.data() + begin_); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(bytes_.data() + begin_); }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data());
  }
  template <typename T>
  T get(std::int64_t i) const {
    T value;
    std::memcpy(&value, data() + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    return value;
  }
  template <typename T>
  void set(std::int64_t i, T value) {
    std::memcpy(data() + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
  }
  bool intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < begin_ || i >= begin_ + static_cast<std::size_t>(size_)) && bytes_[i] != 0xa5) return false;
    }
    return true;
  }
  std::int64_t size() const { return size_; }

 private:
  std::vector<unsigned char> bytes_;
  std::int64_t size_;
  std::size_t begin_;
};

inline void run_on(Machine& machine, const isa::Program& program, const std::vector<TestMemory*>& memory) {
  std::vector<std::byte*> buffers;
  for (TestMemory* each : memory) buffers.push_back(each->data());
  const Status status = machine.run(program.words, program.scratch_bytes, buffers);
  ASSERT_TRUE(status.ok()) << status.error().message;
}

// What a run leaves in copies of `before`.
inline std::vector<std::unique_ptr<TestMemory>> after_run(Machine& machine, const isa::Program& program,
                                                          const std::vector<std::unique_ptr<TestMemory>>& before,
                                                          std::int64_t misalign) {
  std::vector<std::unique_ptr<TestMemory>> memory;
  std::vector<TestMemory*> addresses;
  for (const auto& from : before) {
    memory.push_back(std::make_unique<TestMemory>(from->size(), misalign));
    memory.back()->copy(*from);
    addresses.push_back(memory.back().get());
  }
  run_on(machine, program, addresses);
  return memory;
}

inline Machine& reference() {
  static const std::unique_ptr<Machine> machine = make_reference_machine();
  return *machine;
}
struct TestLevel {
  std::string name;
  std::unique_ptr<Machine> machine;
};
inline std::vector<TestLevel>& levels() {
  static std::vector<TestLevel> all = [] {
    std::vector<TestLevel> made;
    for (const std::string_view name : cpu_levels()) {
      auto machine = make_cpu_machine({std::string(name)});
      if (machine.ok()) made.push_back({std::string(name), std::move(machine).value()});
    }
    return made;
  }();
  return all;
}

inline void expect_valid(const isa::Program& program) {
  const Status status = isa::verify_program(program);
  ASSERT_TRUE(status.ok()) << status.error().message << "\n" << isa::disassemble(program);
}

using isa::lane_dtype;
inline StripOp lane_load(Lane lane) {
  constexpr StripOp kLoads[] = {StripOp::kLoadF32, StripOp::kLoadI32, StripOp::kLoadF64, StripOp::kLoadI64};
  return kLoads[static_cast<int>(lane)];
}
inline StripOp lane_store(Lane lane) {
  constexpr StripOp kStores[] = {StripOp::kStoreF32, StripOp::kStoreI32, StripOp::kStoreF64, StripOp::kStoreI64};
  return kStores[static_cast<int>(lane)];
}

// Numbers of every size, and the special ones.
inline double random_number(std::mt19937_64& random, bool integer) {
  static constexpr double kSpecial[] = {0.0,  -0.0,  1.0, -1.0,  2.0,    -3.0,    0.5,    1e-40,
                                        3e38, -1e10, 7.0, 127.0, -129.0, 33000.0, 70000.0};
  const auto pick = random() % 16;
  if (pick == 0) return kSpecial[random() % 15];
  const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
  if (pick == 1 && !integer) return (random() % 4 == 0) ? std::nan("") : (random() % 2 == 0 ? INFINITY : -INFINITY);
  if (pick < 8) return (unit - 0.5) * 8;
  if (pick < 13) return std::trunc((unit - 0.5) * 300);
  return std::ldexp(unit - 0.5, static_cast<int>(random() % 40) - 6);
}

inline void fill(TestMemory& memory, DType dtype, std::mt19937_64& random) {
  const std::int64_t count = memory.size() / byte_size(dtype);
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = random_number(random, !is_float(dtype));
    visit(dtype, [&]<typename T>() {
      if constexpr (std::is_same_v<T, bool>)
        memory.set<std::uint8_t>(i, random() % 2 != 0 ? 1 : 0);
      else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        memory.set<T>(i, T(static_cast<float>(x)));
      else if constexpr (std::is_floating_point_v<T>)
        memory.set<T>(i, static_cast<T>(x));
      else
        memory.set<T>(i, static_cast<T>(random() % 8 == 0 ? static_cast<std::int64_t>(random())
                                                          : static_cast<std::int64_t>(std::fmod(x, 1e6))));
    });
  }
}

// Distance in units of the last place of `expected`; 0 for two nans, large for one.
template <typename T>
double ulps(T actual, double expected) {
  const auto rounded = static_cast<T>(expected);
  if (std::isnan(rounded) || std::isnan(actual)) return std::isnan(rounded) == std::isnan(actual) ? 0 : 1e30;
  if (rounded == actual) return 0;
  if (std::isinf(rounded) || std::isinf(actual)) {
    // next to the limit, one rounds to infinity and the other does not
    const T largest = std::numeric_limits<T>::max();
    return std::fabs(std::isinf(rounded) ? actual : rounded) == largest && std::signbit(rounded) == std::signbit(actual)
               ? 1
               : 1e30;
  }
  const T magnitude = std::fabs(rounded);
  const double ulp =
      static_cast<double>(std::nextafter(magnitude, static_cast<T>(INFINITY))) - static_cast<double>(magnitude);
  return std::fabs(static_cast<double>(actual) - expected) / ulp;
}

}  // namespace tilewright::vm::testing
