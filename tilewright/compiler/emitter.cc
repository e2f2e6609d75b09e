#include "tilewright/compiler/kernel.h"

namespace tilewright::compiler {

void Emitter::begin(isa::Opcode opcode, int rank, std::int64_t tasks, std::int64_t inner) {
  start_ = words_.size();
  streams_ = 0;
  words_.push_back(isa::inst_head(opcode, 0, rank, 0));
  words_.push_back(static_cast<isa::Word>(tasks));
  words_.push_back(static_cast<isa::Word>(inner));
}

std::uint16_t Emitter::stream(isa::Space space, DType dtype, std::uint32_t buffer, std::int64_t offset,
                              std::int64_t inner_stride, std::span<const std::int64_t> strides) {
  words_.push_back(isa::StreamHead::pack(space, dtype, buffer));
  words_.push_back(static_cast<isa::Word>(offset));
  words_.push_back(static_cast<isa::Word>(inner_stride));
  for (std::int64_t stride : strides) words_.push_back(static_cast<isa::Word>(stride));
  return static_cast<std::uint16_t>(streams_++);
}

void Emitter::phase(isa::PhaseOp op, std::span<const isa::Word> code, std::array<std::uint16_t, 6> operands) {
  const auto word = [](std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    return a | b << 16 | c << 32 | d << 48;
  };
  words_.push_back(word(static_cast<std::uint64_t>(op), code.size(), operands[0], operands[1]));
  words_.push_back(word(operands[2], operands[3], operands[4], operands[5]));
  words_.insert(words_.end(), code.begin(), code.end());
}

void Emitter::end() {
  const isa::Word head = words_[start_];
  const int rank = static_cast<int>(head >> 48 & 0x7f);
  words_[start_] = isa::inst_head(static_cast<isa::Opcode>(head & 0xffff),
                                  static_cast<std::uint32_t>(words_.size() - start_), rank, streams_);
}

}  // namespace tilewright::compiler
