// disassemble: the text form. What the text cannot express exactly (damaged programs) is printed as raw words, so that
// assemble gives back every program as it was. What follows # is a comment.
#include <fmt/format.h>

#include <bit>

#include "tilewright/isa/layout.h"
#include "tilewright/isa/text/names.h"

namespace tilewright::isa {
namespace {

using Text = fmt::memory_buffer;

template <typename... Args>
void print(Text& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

int named_operands(const PhaseInfo& info) {
  std::string_view rest = info.operands;
  int count = 0;
  while (!next_word(rest).empty()) ++count;
  return count;
}

bool stream_is_printable(const StreamHead& head) {
  const Word space = head.bits & 0xff;
  if (space >= std::size(kSpaceNames) || (head.bits >> 8 & 0xff) > static_cast<Word>(DType::kBool)) return false;
  if ((head.bits >> 16 & 0xffff) != 0 || (head.buffer() != 0 && head.space() != Space::kBuffer)) return false;
  return head.space() != Space::kAccumulator || static_cast<Word>(head.inner_stride) >> 32 < std::size(kReduceNames);
}

std::uint16_t operand(const PhaseHead& phase, int i) {
  return static_cast<std::uint16_t>(i < 2 ? phase.first >> (32 + 16 * i) : phase.second >> (16 * (i - 2)));
}

bool phase_is_printable(const PhaseHead& phase) {
  const PhaseInfo* info = find_phase(phase.op());
  if (info == nullptr) return false;
  for (int i = named_operands(*info); i < 6; ++i) {
    if (operand(phase, i) != 0) return false;
  }
  for (int i = 0; i < phase.words(); ++i) {
    if (!strip_exists(phase.code()[i])) return false;
  }
  return true;
}

// Whether assemble would give back exactly these words.
bool is_printable(const Layout& at) {
  for (int i = 0; i < at.streams; ++i) {
    if (!stream_is_printable(at.stream(i))) return false;
  }
  for (const Word* words = at.phases(); words != at.end();) {
    const PhaseHead* phase = read_phase(words, at.end());
    if (phase == nullptr || !phase_is_printable(*phase)) return false;
    words = after(phase);
  }
  return true;
}

void print_list(Text& text, std::string_view name, const std::int64_t* values, int count) {
  print(text, " {}=[", name);
  for (int i = 0; i < count; ++i) print(text, "{}{}", i == 0 ? "" : ",", values[i]);
  print(text, "]");
}

void print_literal(Text& text, const StreamHead& head) {
  const auto bits = static_cast<Word>(head.offset);
  print(text, " bits={:#x}", bits);
  if (head.dtype() == DType::kF32) print(text, "  # {}", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (head.dtype() == DType::kF64) print(text, "  # {}", std::bit_cast<double>(bits));
}

void print_stream(Text& text, const Layout& at, int number) {
  const StreamHead& head = at.stream(number);
  print(text, "  s{} = {}", number, kSpaceNames[static_cast<std::size_t>(head.space())]);
  if (head.space() == Space::kBuffer) print(text, " {}", head.buffer());
  print(text, " {}", to_string(head.dtype()));
  if (head.offset != 0 && head.space() != Space::kLiteral) print(text, " offset={}", head.offset);
  if (head.space() == Space::kAccumulator) {
    const auto bits = static_cast<Word>(head.inner_stride);
    print(text, " reduce={} target={}", kReduceNames[bits >> 32], bits & 0xffffffff);
  } else if (head.inner_stride != 0) {
    print(text, " inner={}", head.inner_stride);
  }
  bool strided = false;
  for (int d = 0; d < at.rank; ++d) strided |= head.strides()[d] != 0;
  if (strided) print_list(text, "strides", head.strides(), at.rank);
  if (head.space() == Space::kLiteral) print_literal(text, head);
  print(text, "\n");
}

void print_strip(Text& text, Word word) {
  const StripCode code = decode_strip(word);
  const StripInfo& info = *find_strip(code.op);
  print(text, "    {}.{}", info.text, kLaneNames[static_cast<std::size_t>(code.lane)]);
  const std::string_view form = form_names(info.shape)[static_cast<std::size_t>(code.form)];
  if (!form.empty()) print(text, ".{}", form);
  const int operands = kStripFacts[static_cast<std::size_t>(code.op)].operands;
  if (operands > 0) print(text, " s{}", code.a);
  if (operands > 1) print(text, " s{}", code.b);
  if (operands > 2) print(text, " s{}", code.c);
  print(text, "\n");
}

void print_phase(Text& text, const PhaseHead& phase) {
  const PhaseInfo& info = *find_phase(phase.op());
  print(text, "  phase {}", info.text);
  std::string_view rest = info.operands;
  const bool streams = phase.op() != PhaseOp::kStrip;
  for (int i = 0; i < 6; ++i) {
    const std::string_view name = next_word(rest);
    if (name.empty()) break;
    const std::uint16_t value = operand(phase, i);
    if (streams && value == kNoStream) print(text, " {}=none", name);
    if (streams && value != kNoStream) print(text, " {}=s{}", name, value);
    if (!streams && value != 0) print(text, " {}={}", name, value);
  }
  print(text, "\n");
  for (int i = 0; i < phase.words(); ++i) print_strip(text, phase.code()[i]);
}

void print_instruction(Text& text, const Layout& at) {
  const Inst inst(at.words);
  const InstInfo& info = *find_inst(inst.opcode());
  print(text, "{}{} tasks={} inner={}", inst.beside() ? "beside " : "", info.text, inst.tasks(), inst.inner());
  print_list(text, "dims", at.dims(), at.rank);
  for (int i = 0; i < at.fields; ++i) print(text, " {}={}", info.fields[static_cast<std::size_t>(i)].name, at.field(i));
  print(text, "\n");
  for (int i = 0; i < at.streams; ++i) print_stream(text, at, i);
  for (const Word* words = at.phases(); words != at.end();) {
    const PhaseHead* phase = read_phase(words, at.end());
    print_phase(text, *phase);
    words = after(phase);
  }
}

void print_raw(Text& text, const Word* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) print(text, "raw {:#x}\n", words[i]);
}

}  // namespace

std::string disassemble(const Program& program) {
  Text text;
  print(text, "program scratch={}\n", program.scratch_bytes);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const auto kind = static_cast<std::size_t>(program.buffers[i].kind);
    print(text, "buffer {} ", i);
    if (kind < std::size(kBufferKindNames))
      print(text, "{}", kBufferKindNames[kind]);
    else
      print(text, "{}", kind);
    print(text, " {}\n", program.buffers[i].bytes);
  }
  for (std::size_t position = 0; position < program.words.size();) {
    const Word* words = program.words.data() + position;
    Layout at;
    const bool whole = read_layout(words, program.words.size() - position, at);
    const std::size_t count = whole ? Inst(words).num_words() : program.words.size() - position;
    if (whole && is_printable(at)) {
      print_instruction(text, at);
    } else {
      print_raw(text, words, count);
    }
    position += count;
  }
  return fmt::to_string(text);
}

}  // namespace tilewright::isa
