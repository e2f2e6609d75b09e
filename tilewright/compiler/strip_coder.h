// StripCoder: writes the strip program that computes some nodes of an area and stores or accumulates them.
// One value is in registers at a time; the second operand of an operation comes from memory: a stream, a literal, or a
// slot where an earlier result was put. Operand forms follow the strides of the call, so the same area gives different
// programs for different shapes. Nothing is allocated once its vectors are warm.
#pragma once

#include "tilewright/compiler/area.h"
#include "tilewright/isa/strip_facts.h"

namespace tilewright::compiler {

// A stream of the instruction being built, before it is encoded.
struct StreamSpec {
  isa::Space space;
  DType dtype;
  std::uint32_t buffer;
  std::int64_t offset;
  std::int64_t inner_stride;
  std::array<std::int64_t, kMaxTensorRank> strides;
};

class StripCoder {
 public:
  static constexpr std::uint16_t kNoSource = 0xffff;

  // Where a node's value can be read in the phase being written.
  struct Source {
    std::uint16_t stream = kNoSource;
    std::uint8_t form = isa::kUnit;
    DType memory = DType::kF32;
    bool lane_value = false;  // holds lanes as they are in registers (a slot, a row buffer), masks included
    bool iota = false;        // no memory: an affine stream
  };
  struct Root {
    enum class Kind : std::uint8_t { kStore, kStoreLanes, kAccumulate };
    Kind kind;
    std::uint16_t node;
    std::uint16_t stream;
    DType dtype = DType::kF32;                       // kStore: of the memory
    std::uint8_t form = isa::kUnit;                  // kStore: unit or strided
    isa::ReduceKind reduce = isa::ReduceKind::kSum;  // kAccumulate
  };

  void reset(const Area& area, std::int64_t slot_base);
  std::uint16_t add_stream(const StreamSpec& spec);
  const std::vector<StreamSpec>& streams() const { return streams_; }
  void set_source(std::uint16_t node, Source source) { sources_[node] = source; }
  void clear_source(std::uint16_t node) { sources_[node] = {}; }
  const Source& source(std::uint16_t node) const { return sources_[node]; }

  // Appends the program for `roots` to `code`, with its end. Slots are free again afterwards.
  void write(std::span<const Root> roots, std::vector<isa::Word>& code);
  std::int64_t slot_bytes() const { return max_slots_ * isa::kSlotBytes; }

 private:
  void count_uses(std::uint16_t node);
  void compute(std::uint16_t node);
  void load(std::uint16_t node);
  void compute_strip(std::uint16_t node);
  void compute_binary(const AreaNode& node);
  bool compute_fma(const AreaNode& node);
  bool is_direct(std::uint16_t node) const;
  void make_direct(std::uint16_t node);
  void spill(std::uint16_t node);
  std::uint16_t use(std::uint16_t node);  // stream of a direct operand; frees its slot after the last use
  void emit(isa::StripOp op, isa::Lane lane, int form = 0, std::uint16_t a = 0, std::uint16_t b = 0);

  const Area* area_ = nullptr;
  std::vector<isa::Word>* code_ = nullptr;
  std::size_t begin_ = 0;  // of the program in code_
  std::vector<StreamSpec> streams_;
  std::vector<Source> sources_;
  std::vector<std::uint16_t> uses_left_;
  std::vector<std::int16_t> slot_of_;
  std::vector<std::uint16_t> slot_streams_;  // stream of each slot, made on demand; [2 * slot + is_wide_or_float]
  std::vector<std::int16_t> free_slots_;
  std::vector<std::pair<std::uint16_t, Source>> spilled_;  // nodes whose source is a slot, and the one they had before
  std::int64_t slot_base_ = 0;
  int max_slots_ = 0;
  std::uint16_t in_registers_ = kNoSource;
};

DType dtype_of_lane(isa::Lane lane);
isa::StripOp load_op(DType dtype);
isa::StripOp accumulate_op(isa::ReduceKind kind);

}  // namespace tilewright::compiler
