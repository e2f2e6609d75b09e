// verify_program: walks the instructions once. Structure first (lengths, sizes, opcodes), then the rules of each
// instruction; what it accepts touches nothing outside the buffers and the scratch memory, whatever the data.
#include "tilewright/isa/verify/verifier.h"
#include "tilewright/isa/written.h"

namespace tilewright::isa {
namespace {

bool check_buffers(Verifier& v) {
  const Program& program = v.program;
  if (program.scratch_bytes < 0 || program.scratch_bytes > kMaxScratchBytes) {
    return v.reject("scratch of {} bytes, at most {} are allowed", program.scratch_bytes, kMaxScratchBytes);
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (static_cast<int>(buffer.kind) > static_cast<int>(BufferKind::kPacked)) {
      return v.reject("buffer {}: unknown kind {}", i, static_cast<int>(buffer.kind));
    }
    if (buffer.bytes < 0) return v.reject("buffer {}: size {}", i, buffer.bytes);
  }
  return true;
}

// All elements of the domain can be counted; an empty dim counts as 1, so that every part of the product can be counted
// too.
bool check_domain(Verifier& v) {
  std::int64_t count = 1;
  const std::int64_t inner = v.inner();
  if (inner < 0) return v.reject("inner size {}", inner);
  bool overflow = __builtin_mul_overflow(count, inner < 1 ? 1 : inner, &count);
  for (int d = 0; d < v.at.rank; ++d) {
    const std::int64_t size = v.at.dims()[d];
    if (size < 0) return v.reject("dim {}: size {}", d, size);
    overflow |= __builtin_mul_overflow(count, size < 1 ? 1 : size, &count);
  }
  return !overflow || v.reject("more elements than 64 bits can count");
}

bool check_stream_heads(Verifier& v) {
  for (int i = 0; i < v.at.streams; ++i) {
    const StreamHead& head = v.stream(i);
    if ((head.bits & 0xff) > static_cast<Word>(Space::kIota))
      return v.reject("stream {}: unknown space {}", i, head.bits & 0xff);
    if ((head.bits >> 8 & 0xff) > static_cast<Word>(DType::kBool)) {
      return v.reject("stream {}: unknown dtype {}", i, head.bits >> 8 & 0xff);
    }
    if ((head.bits >> 16 & 0xffff) != 0) return v.reject("stream {}: reserved bits are set", i);
    if (head.space() == Space::kBuffer) {
      if (head.buffer() >= v.program.buffers.size()) {
        return v.reject("stream {}: buffer {} of {}", i, head.buffer(), v.program.buffers.size());
      }
    } else if (head.buffer() != 0) {
      return v.reject("stream {}: buffer number {} without a buffer", i, head.buffer());
    }
  }
  return true;
}

bool check_instruction(Verifier& v) {
  if (!check_domain(v) || !check_stream_heads(v)) return false;
  const Inst inst(v.at.words);
  switch (inst.opcode()) {
#define INST(opcode, Name, ...) \
  case Opcode::k##Name:         \
    return verify_##Name(v, inst, inst.fields<Name##Fields>());
#define FIELD(...)
#define END_INST(...)
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST
  }
  return v.reject("unknown opcode");
}

// The domain without the dims along which a stream stays where it is. Sizes have been checked to have a product.
std::int64_t elements_written(const Verifier& v, const StreamHead& head) {
  const bool scatter = Inst(v.at.words).opcode() == Opcode::kScatter;
  std::int64_t count = scatter || head.inner_stride != 0 ? v.inner() : 1;
  for (int d = 0; d < v.at.rank; ++d) {
    if (scatter || head.strides()[d] != 0 || v.at.dims()[d] == 0) count *= v.at.dims()[d];
  }
  return count;
}

void add_written(Verifier& v, std::int64_t& bytes) {
  for (; v.written != 0; v.written &= v.written - 1) {
    const StreamHead& head = v.stream(__builtin_ctzll(v.written));
    if (head.space() == Space::kBuffer) bytes += elements_written(v, head) * byte_size(head.dtype());
  }
}

[[gnu::cold]] Error describe(Error error, const Program& program, std::size_t position) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < position; ++number) at += Inst(program.words.data() + at).num_words();
  const InstInfo* info = find_inst(Inst(program.words.data() + position).opcode());
  return std::move(error).in(fmt::format("instruction {} ({})", number, info == nullptr ? "?" : info->text));
}

}  // namespace

Status verify_program(const Program& program) {
  std::int64_t bytes_written = 0;
  return verify_program(program, bytes_written);
}

Status verify_program(const Program& program, std::int64_t& bytes_written) {
  Verifier v(program);
  bytes_written = 0;
  if (!check_buffers(v)) return std::move(*v.error);
  std::size_t position = 0;
  while (position < program.words.size()) {
    const Word* words = program.words.data() + position;
    const std::size_t available = program.words.size() - position;
    v.written = 0;
    v.touched.count = 0;
    const bool good = read_layout(words, available, v.at)
                          ? check_instruction(v) && check_launch(v)
                          : v.reject("opcode {:#x} of {} words with {} words left is not a whole instruction",
                                     words[0] & 0xffff, words[0] >> 16 & 0xffffffff, available);
    if (!good) return describe(std::move(*v.error), program, position);
    add_written(v, bytes_written);
    position += Inst(words).num_words();
  }
  return {};
}

}  // namespace tilewright::isa
