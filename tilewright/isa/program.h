// Program: tile-level bytecode. A list of tile instructions over numbered buffers; no branches, no addresses, so that
// it can be stored, compared and run on any backend. Verified once (verify_program), then run without checks.
// Instructions run in order; the tasks of one instruction are independent of each other. Instructions that stand beside
// each other form one launch (a stack): they are independent too, and a machine may run their tasks in any order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewright/base/result.h"
#include "tilewright/tensor/dtype.h"

namespace tilewright::isa {

using Word = std::uint64_t;

inline constexpr int kMaxRank = 12;  // outer dims of an instruction
inline constexpr int kMaxStreams = 64;
inline constexpr int kMaxLaunch = 16;   // instructions side by side
inline constexpr int kSlotBytes = 512;  // a slot or accumulator holds one strip of any backend
inline constexpr std::uint16_t kNoStream = 0xffff;
inline constexpr std::int64_t kMaxScratchBytes = 1 << 20;   // per worker, what streams may address
inline constexpr std::int64_t kMaxTileRowBytes = 1 << 26;   // per worker, a row of the block that an epilogue reads
inline constexpr std::int64_t kMaxAttentionKeys = 1 << 26;  // machines keep memory per key

enum class Opcode : std::uint16_t {
#define INST(opcode, Name, ...) k##Name = opcode,
#define FIELD(...)
#define END_INST(...)
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST
};

// NameFields: the fixed fields of each instruction as a struct of 64-bit words.
#define INST(opcode, Name, ...) \
  struct Name##Fields {         \
    static constexpr Opcode kOpcode = Opcode::k##Name;
#define FIELD(name, ...) std::int64_t name;
#define END_INST(Name) \
  }                    \
  ;
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST

enum class PhaseOp : std::uint16_t {
#define PHASE(number, Name, ...) k##Name = number,
#include "tilewright/isa/phases.def"
#undef PHASE
};

enum class StripOp : std::uint16_t {
#define STRIP(number, Name, ...) k##Name = number,
#include "tilewright/isa/strip_ops.def"
#undef STRIP
};

enum class Lane : std::uint8_t { kF32, kI32, kF64, kI64 };
constexpr int lane_bytes(Lane lane) {
  return lane == Lane::kF32 || lane == Lane::kI32 ? 4 : 8;
}

// Forms of a strip instruction, by shape (see strip_ops.def).
enum LoadForm : std::uint8_t { kUnit = 0, kStrided = 1, kOne = 2 };
enum BinaryForm : std::uint8_t { kStripOperand = 0, kOneOperand = 1, kReversed = 2 };
enum TernaryForm : std::uint8_t { kStripStrip = 0, kOneStrip = 1, kStripOne = 2, kOneOne = 3 };

inline constexpr int kNumStripOpcodes = 8192;
constexpr std::uint16_t strip_opcode(StripOp op, Lane lane, int form = 0) {
  return static_cast<std::uint16_t>(static_cast<int>(op) * 32 + static_cast<int>(lane) * 8 + form);
}
constexpr Word strip_word(StripOp op, Lane lane, int form = 0, std::uint16_t a = 0, std::uint16_t b = 0,
                          std::uint16_t c = 0) {
  return Word{strip_opcode(op, lane, form)} | Word{a} << 16 | Word{b} << 32 | Word{c} << 48;
}

// Where a stream's elements are. p is the inner position, counted from 0 over the whole inner dim; index[d] the
// position in outer dim d; row = index[rank-1]. The contract in full is docs/isa.md (isa_doc.cc), tasks.h has the
// arithmetic.
enum class Space : std::uint8_t {
  // base of the buffer + offset + sum over d of index[d] * stride[d] + p * inner_stride.
  kBuffer,
  // scratch + offset + (row - first row of the tile) * stride[rank-1] + q * inner_stride, private to the task; the
  // other
  // strides do not count. rows: q = p. map, columns, matmul epilogue: q = p - first p of the task. columns: the row
  // term is 0.
  kScratch,
  // One strip of scratch memory, kSlotBytes at scratch + offset: element i of the strip that is running is at + i *
  // size.
  // Unit stride, no element wider than the lane, outer strides do not count. It keeps nothing from one strip to the
  // next.
  kSlot,
  // Only for Reduce operations. inner_stride = ReduceKind * 2^32 + number of the target stream; the dtype is the lane
  // type.
  // rows: kSlotBytes at scratch + offset. Before each row it is filled with the identity; after the row it is reduced
  // over
  // all lanes, and the one value is written at the target's address for that row with p = 0 (target: kScratch or a
  // writable
  // kBuffer of the same dtype). columns: min(inner_tile, inner) elements at scratch + offset, filled with the identity
  // when
  // the task begins, accumulated at q; the second phase reads them as a kScratch stream. The target does not count.
  kAccumulator,
  // The block (f32; of dot on bytes i32) that the tile instruction has just computed: element (row - first row of the
  // task, p - first p of the
  // task). offset 0, inner_stride 4; where its rows lie is the backend's business, outer strides do not count.
  kTile,
  // No memory: `offset` holds the bits of one element of the dtype, higher bits 0. Only as a one-element operand.
  kLiteral,
  // No memory, dtype i64: offset + sum over d of index[d] * stride[d] + p * inner_stride, wrapping. Only for load_iota.
  kIota,
};

// How an accumulator combines; its number is stored in the accumulator's stream.
enum class ReduceKind : std::uint32_t { kSum, kProd, kMax, kMin, kOr, kAnd, kSumSquare };

// A stream as stored: 3 + rank words.
struct StreamHead {
  Word bits;                  // space:8 | dtype:8 | zero:16 | buffer:32
  std::int64_t offset;        // bytes (kLiteral: bits, kIota: start)
  std::int64_t inner_stride;  // bytes (kIota: step)
  // followed by rank outer strides in bytes (kIota: steps)

  Space space() const { return static_cast<Space>(bits & 0xff); }
  DType dtype() const { return static_cast<DType>(bits >> 8 & 0xff); }
  std::uint32_t buffer() const { return static_cast<std::uint32_t>(bits >> 32); }
  const std::int64_t* strides() const { return &inner_stride + 1; }
  static constexpr Word pack(Space space, DType dtype, std::uint32_t buffer = 0) {
    return Word{static_cast<std::uint8_t>(space)} | Word{static_cast<std::uint8_t>(dtype)} << 8 | Word{buffer} << 32;
  }
};

struct PhaseHead {
  Word first, second;  // [op:16 | words:16 | a:16 | b:16] [c:16 | d:16 | e:16 | f:16]
  PhaseOp op() const { return static_cast<PhaseOp>(first & 0xffff); }
  std::uint16_t words() const { return static_cast<std::uint16_t>(first >> 16); }
  std::uint16_t a() const { return static_cast<std::uint16_t>(first >> 32); }
  std::uint16_t b() const { return static_cast<std::uint16_t>(first >> 48); }
  std::uint16_t c() const { return static_cast<std::uint16_t>(second); }
  std::uint16_t d() const { return static_cast<std::uint16_t>(second >> 16); }
  std::uint16_t e() const { return static_cast<std::uint16_t>(second >> 32); }
  std::uint16_t f() const { return static_cast<std::uint16_t>(second >> 48); }
  const Word* code() const { return &second + 1; }
};

inline constexpr Word kBeside = Word{1} << 55;  // in a head: runs in the launch of the instruction before it

// A decoded look at one encoded instruction; costs a few loads. The words outlive it.
class Inst {
 public:
  explicit Inst(const Word* words) : words_(words) {}

  Opcode opcode() const { return static_cast<Opcode>(words_[0] & 0xffff); }
  std::uint32_t num_words() const { return static_cast<std::uint32_t>(words_[0] >> 16 & 0xffffffff); }
  int rank() const { return static_cast<int>(words_[0] >> 48 & 0x7f); }
  bool beside() const { return (words_[0] & kBeside) != 0; }
  int num_streams() const { return static_cast<int>(words_[0] >> 56); }
  std::int64_t tasks() const { return static_cast<std::int64_t>(words_[1]); }
  std::int64_t inner() const { return static_cast<std::int64_t>(words_[2]); }
  template <typename Fields>
  const Fields& fields() const {
    return *reinterpret_cast<const Fields*>(words_ + 3);
  }
  const std::int64_t* raw_fields() const { return reinterpret_cast<const std::int64_t*>(words_ + 3); }
  const std::int64_t* dims(int num_fields) const { return raw_fields() + num_fields; }
  template <typename Fields>
  const std::int64_t* dims() const {
    return dims(static_cast<int>(sizeof(Fields) / sizeof(std::int64_t)));
  }
  template <typename Fields>
  const StreamHead& stream(int i) const {
    return *reinterpret_cast<const StreamHead*>(dims<Fields>() + rank() + i * (3 + rank()));
  }
  template <typename Fields>
  const Word* phases() const {
    return reinterpret_cast<const Word*>(dims<Fields>() + rank() + num_streams() * (3 + rank()));
  }
  const Word* end() const { return words_ + num_words(); }
  const Word* words() const { return words_; }

 private:
  const Word* words_;
};

constexpr Word inst_head(Opcode opcode, std::uint32_t words, int rank, int num_streams) {
  return Word{static_cast<std::uint16_t>(opcode)} | Word{words} << 16 | Word(rank) << 48 | Word(num_streams) << 56;
}

enum class BufferKind : std::uint8_t { kArena, kInput, kOutput, kConstant, kPacked };

struct Buffer {
  BufferKind kind;
  std::int64_t bytes;  // the program touches nothing beyond
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Word> words;
  std::int64_t scratch_bytes = 0;  // per worker
};

// What the tables say, for generic readers.
struct FieldInfo {
  std::string_view name, meaning;
};
struct InstInfo {
  Opcode opcode;
  std::string_view name, text, operands, meaning;
  std::vector<FieldInfo> fields;
};
enum class StripShape : std::uint8_t { kEnd, kLoad, kStore, kUnary, kBinary, kTernary, kReduce, kPair };
struct StripInfo {
  StripOp op;
  std::string_view text;
  StripShape shape;
  std::string_view lanes, meaning;
};
struct PhaseInfo {
  PhaseOp op;
  std::string_view text, operands, meaning;
};
const InstInfo* find_inst(Opcode opcode);  // null: no such opcode
const StripInfo* find_strip(StripOp op);
const PhaseInfo* find_phase(PhaseOp op);
std::span<const InstInfo> all_insts();
std::span<const StripInfo> all_strips();
std::span<const PhaseInfo> all_phases();

// Checks that running `program` touches nothing outside its buffers and scratch and meets no unknown instruction.
Status verify_program(const Program& program);

// Text form: one line per instruction, stream, phase and strip instruction; assemble(disassemble(p)) == p.
std::string disassemble(const Program& program);
Result<Program> assemble(std::string_view text);

// File form, with magic, version and checksum. decode checks everything before it allocates.
std::vector<std::uint8_t> encode_file(const Program& program);
Result<Program> decode_file(std::span<const std::uint8_t> bytes);

}  // namespace tilewright::isa
