// The verifier's view of the instruction it is at, and the checks that the instructions share. It runs at every bind,
// so the way without an error allocates nothing and looks nothing up. Each function returns false after it has set
// `error`.
#pragma once

#include <array>
#include <optional>

#include "tilewright/isa/layout.h"
#include "tilewright/isa/strip_facts.h"
#include "tilewright/isa/tasks.h"

namespace tilewright::isa {

using StreamSet = std::uint64_t;  // bit per stream number
static_assert(kMaxStreams <= 64);

// The elements that a use of a stream touches.
struct Access {
  int dims;                // leading outer dims whose index varies; the others stay at 0
  std::int64_t inner;      // inner positions
  std::int64_t tile_rows;  // rows and inner positions that scratch holds
  std::int64_t tile_inner;
};

// What the phases of an instruction may do, and which streams they were found to use.
struct PhaseRules {
  std::int64_t accumulator_bytes = -1;  // -1: one strip each, with a target (rows); else the size of each (columns)
  bool tile_readable = false;           // there is a computed block (kTile)
  DType tile = DType::kF32;             // its elements
};

// Bytes of a buffer that a stream may touch: [low, high), a hull; where dims >= 0, an element at each index of the
// leading outer dims and each of the inner positions.
struct ByteRange {
  std::uint32_t buffer;
  bool written;
  std::int16_t dims;
  std::int64_t low, high;
  std::int64_t inner;
  const StreamHead* stream;
  const std::int64_t* sizes;
};

// What an instruction, or the instructions of a launch so far, may touch of buffers that programs write.
template <int capacity>
struct Touched {
  Touched() {}  // leaves the ranges as they are: clearing them would cost more than most checks
  std::array<ByteRange, capacity> ranges;
  int count = 0;
  bool overflow = false;

  void add(const ByteRange& range) {
    if (count == capacity) {
      overflow = true;
    } else {
      ranges[static_cast<std::size_t>(count++)] = range;
    }
  }
  // The last range is an element at each index of `dims` outer dims and each of `inner` positions.
  void set_domain(int dims, std::int64_t inner) {
    if (overflow) return;
    ranges[static_cast<std::size_t>(count - 1)].dims = static_cast<std::int16_t>(dims);
    ranges[static_cast<std::size_t>(count - 1)].inner = inner;
  }
};

struct Verifier {
  explicit Verifier(const Program& of) : program(of) {}

  const Program& program;
  Layout at{};
  std::optional<Error> error{};
  StreamSet written = 0;             // by the instruction
  Touched<2 * kMaxStreams> touched;  // by the instruction; `buffer` holds the number of the stream
  Touched<8 * kMaxStreams> launch;   // by the launch before it
  int launched = 0;                  // instructions of the launch before it

  std::int64_t inner() const { return Inst(at.words).inner(); }
  const StreamHead& stream(int i) const { return at.stream(i); }

  template <typename... Args>
  [[gnu::cold, gnu::noinline]] bool reject(fmt::format_string<Args...> text, Args&&... args) {
    error = fail(ErrorKind::kCorrupt, text, std::forward<Args>(args)...);
    return false;
  }
};

// Adds the byte offsets that `count` steps of `stride` reach to [low, high]. False where they do not fit 64 bits.
constexpr bool extend(std::int64_t count, std::int64_t stride, std::int64_t& low, std::int64_t& high) {
  if (count <= 1) return true;
  std::int64_t span = 0;
  if (__builtin_mul_overflow(count - 1, stride, &span)) return false;
  return !__builtin_add_overflow(span < 0 ? low : high, span, span < 0 ? &low : &high);
}

// interleaving.cc: whether streams whose hulls overlap have no byte in common, because one lies between the rows of the
// other.
bool interleave(const ByteRange& a, const ByteRange& b);

// independence.cc: after the rules of the instruction hold, the rules of its launch.
bool check_launch(Verifier& v);

// streams.cc
bool check_tasks(Verifier& v, const Tiling& tiling);
bool check_positive(Verifier& v, std::string_view name, std::int64_t value);
bool check_range(Verifier& v, int stream, std::int64_t low, std::int64_t high,
                 std::int64_t size);  // of buffer or scratch
bool check_streams(Verifier& v, StreamSet streams, const Access& access);
bool check_writable(Verifier& v, int stream);

// phases.cc
struct PhaseUse {
  StreamSet elements = 0;  // touched at every element of the domain
  StreamSet rows = 0;      // touched once per row, with inner position 0
};
bool check_phase(Verifier& v, const PhaseHead& phase, const PhaseRules& rules, PhaseUse& use);
// A strip phase without accumulators.
bool check_plain_strip(Verifier& v, const PhaseHead* phase, const PhaseRules& rules, PhaseUse& use);

// One per instruction: the table names them, so an instruction without one does not link.
#define INST(opcode, Name, ...) bool verify_##Name(Verifier& v, const Inst& inst, const Name##Fields& f);
#define FIELD(...)
#define END_INST(...)
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST

}  // namespace tilewright::isa
