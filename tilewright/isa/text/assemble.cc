// assemble: the inverse of disassemble. One line, one thing; blanks separate words; what follows # is a comment. It
// checks only that the text says something that can be encoded: verify_program decides whether the program may run.
#include <charconv>

#include "tilewright/isa/layout.h"
#include "tilewright/isa/text/names.h"

namespace tilewright::isa {
namespace {

// A whole number, decimal or 0x hexadecimal; negative ones wrap.
bool parse_word(std::string_view text, Word& value) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  const char* end = text.data() + text.size();
  if (!hexadecimal && text.starts_with('-')) {
    std::int64_t negative = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, negative);
    value = static_cast<Word>(negative);
    return error == std::errc{} && stop == end;
  }
  const auto [stop, error] = std::from_chars(text.data(), end, value, hexadecimal ? 16 : 10);
  return error == std::errc{} && stop == end;
}

bool parse_list(std::string_view text, std::vector<Word>& values) {
  if (!text.starts_with('[') || !text.ends_with(']')) return false;
  std::string_view rest = text.substr(1, text.size() - 2);
  for (std::string_view item = next_word(rest, ","); !item.empty(); item = next_word(rest, ",")) {
    if (!parse_word(item, values.emplace_back())) return false;
  }
  return true;
}

// "name=value" -> value, or nothing.
std::string_view value_of(std::string_view word, std::string_view name) {
  if (!word.starts_with(name) || word.substr(name.size(), 1) != "=") return {};
  return word.substr(name.size() + 1);
}

class Assembler {
 public:
  Result<Program> run(std::string_view text) {
    for (std::size_t line = 1; !text.empty(); ++line) {
      const std::size_t end = text.find('\n');
      std::string_view rest = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
      rest = rest.substr(0, rest.find('#'));
      if (Status status = read_line(rest); !status) return std::move(status).error().in(fmt::format("line {}", line));
    }
    finish_instruction();
    return std::move(program_);
  }

 private:
  template <typename... Args>
  static Error bad(fmt::format_string<Args...> text, Args&&... args) {
    return fail(ErrorKind::kParse, text, std::forward<Args>(args)...);
  }

  Status read_line(std::string_view rest) {
    const std::string_view word = next_word(rest);
    if (word.empty()) return {};
    if (word == "program") return read_program(rest);
    if (word == "buffer") return read_buffer(rest);
    if (word == "raw") return read_raw(rest);
    if (word == "phase") return read_phase_line(rest);
    std::string_view after_word = rest;
    const bool beside = word == "beside";
    const std::string_view name = beside ? next_word(after_word) : word;
    for (const InstInfo& info : all_insts()) {
      if (info.text == name) return read_instruction(info, beside, after_word);
    }
    if (beside) return bad("beside '{}', which is no instruction", name);
    std::string_view ahead = rest;
    if (next_word(ahead) == "=") return read_stream(word, ahead);
    return read_strip(word, rest);
  }

  Status read_program(std::string_view rest) {
    Word bytes = 0;
    const std::string_view word = next_word(rest);
    if (!parse_word(value_of(word, "scratch"), bytes)) return bad("scratch=BYTES is missing, not '{}'", word);
    program_.scratch_bytes = static_cast<std::int64_t>(bytes);
    return {};
  }

  Status read_buffer(std::string_view rest) {
    Word number = 0;
    Word kind = 0;
    Word bytes = 0;
    const std::string_view number_text = next_word(rest);
    const std::string_view kind_text = next_word(rest);
    if (!parse_word(number_text, number) || number != program_.buffers.size()) {
      return bad("buffer '{}', the next one is {}", number_text, program_.buffers.size());
    }
    const int known = find_name(kBufferKindNames, kind_text);
    if (known >= 0) kind = static_cast<Word>(known);
    if ((known < 0 && !parse_word(kind_text, kind)) || kind > 255) return bad("unknown buffer kind '{}'", kind_text);
    if (!parse_word(next_word(rest), bytes)) return bad("a buffer has a size");
    program_.buffers.push_back({static_cast<BufferKind>(kind), static_cast<std::int64_t>(bytes)});
    return {};
  }

  Status read_raw(std::string_view rest) {
    finish_instruction();
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      if (!parse_word(word, program_.words.emplace_back())) return bad("not a number: '{}'", word);
    }
    return {};
  }

  Status read_instruction(const InstInfo& info, bool beside, std::string_view rest) {
    finish_instruction();
    open_ = true;
    beside_ = beside;
    opcode_ = info.opcode;
    fixed_.assign(3 + info.fields.size(), 0);
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      if (const std::string_view list = value_of(word, "dims"); !list.empty()) {
        if (!parse_list(list, dims_) || dims_.size() > kMaxRank) return bad("dims '{}'", list);
        continue;
      }
      Word* place = nullptr;
      std::string_view value;
      const auto take = [&](std::string_view name, Word& to) {
        if (const std::string_view found = value_of(word, name); !found.empty()) place = &to, value = found;
      };
      take("tasks", fixed_[1]);
      take("inner", fixed_[2]);
      for (std::size_t i = 0; i < info.fields.size(); ++i) take(info.fields[i].name, fixed_[3 + i]);
      if (place == nullptr) return bad("{} has no field '{}'", info.text, word);
      if (!parse_word(value, *place)) return bad("not a number: '{}'", word);
    }
    return {};
  }

  Status read_stream(std::string_view name, std::string_view rest) {
    if (!open_ || phase_ != 0) return bad("a stream outside of the streams of an instruction");
    if (name != fmt::format("s{}", streams_) || streams_ == kMaxStreams)
      return bad("stream '{}', the next one is s{}", name, streams_);
    const std::string_view space_text = next_word(rest);
    const int space = find_name(kSpaceNames, space_text);
    if (space < 0) return bad("unknown space '{}'", space_text);
    Word buffer = 0;
    if (static_cast<Space>(space) == Space::kBuffer && (!parse_word(next_word(rest), buffer) || buffer > 0xffffffff)) {
      return bad("a buffer stream has the number of a buffer");
    }
    const std::string_view dtype_text = next_word(rest);
    const auto dtype = parse_dtype(dtype_text);
    if (!dtype) return bad("unknown dtype '{}'", dtype_text);
    Word offset = 0;
    Word inner = 0;
    std::vector<Word> strides;
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      if (!read_stream_word(word, offset, inner, strides)) return bad("'{}' says nothing of a stream", word);
    }
    strides.resize(strides.empty() ? dims_.size() : strides.size());
    if (strides.size() != dims_.size()) return bad("{} strides, {} outer dims", strides.size(), dims_.size());
    stream_words_.push_back(StreamHead::pack(static_cast<Space>(space), *dtype, static_cast<std::uint32_t>(buffer)));
    stream_words_.push_back(offset);
    stream_words_.push_back(inner);
    stream_words_.insert(stream_words_.end(), strides.begin(), strides.end());
    ++streams_;
    return {};
  }

  static bool read_stream_word(std::string_view word, Word& offset, Word& inner, std::vector<Word>& strides) {
    if (const auto text = value_of(word, "offset"); !text.empty()) return parse_word(text, offset);
    if (const auto text = value_of(word, "bits"); !text.empty()) return parse_word(text, offset);
    if (const auto text = value_of(word, "inner"); !text.empty()) return parse_word(text, inner);
    if (const auto text = value_of(word, "strides"); !text.empty()) return parse_list(text, strides);
    if (const auto text = value_of(word, "reduce"); !text.empty()) {
      const int kind = find_name(kReduceNames, text);
      inner |= static_cast<Word>(kind) << 32;
      return kind >= 0;
    }
    Word target = 0;
    if (!parse_word(value_of(word, "target"), target) || target > 0xffffffff) return false;
    inner |= target;
    return true;
  }

  Status read_phase_line(std::string_view rest) {
    if (!open_) return bad("a phase outside of an instruction");
    const std::string_view name = next_word(rest);
    const PhaseInfo* info = nullptr;
    for (const PhaseInfo& row : all_phases()) {
      if (row.text == name) info = &row;
    }
    if (info == nullptr) return bad("unknown phase '{}'", name);
    phase_ = phase_words_.size() + 1;
    phase_words_.push_back(static_cast<Word>(info->op));
    phase_words_.push_back(0);
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      std::string_view names = info->operands;
      int number = 0;
      std::string_view operand = next_word(names);
      while (!operand.empty() && value_of(word, operand).empty()) operand = next_word(names), ++number;
      if (operand.empty()) return bad("{} has no operand '{}'", name, word);
      Word value = 0;
      if (!parse_operand(value_of(word, operand), value)) return bad("not a stream: '{}'", word);
      phase_words_[phase_ - 1 + static_cast<std::size_t>(number >= 2)] |=
          value << (number < 2 ? 32 + 16 * number : 16 * (number - 2));
    }
    return {};
  }

  // "s3", "3" or "none".
  static bool parse_operand(std::string_view text, Word& value) {
    if (text == "none") {
      value = kNoStream;
      return true;
    }
    if (text.starts_with('s')) text.remove_prefix(1);
    return parse_word(text, value) && value <= 0xffff;
  }

  Status read_strip(std::string_view word, std::string_view rest) {
    if (phase_ == 0) return bad("unknown word '{}'", word);
    std::string_view parts = word;
    const std::string_view name = next_word(parts, ".");
    const std::string_view lane_text = next_word(parts, ".");
    const std::string_view form_text = next_word(parts, ".");
    const StripInfo* info = nullptr;
    for (const StripInfo& row : all_strips()) {
      if (row.text == name) info = &row;
    }
    if (info == nullptr) return bad("unknown operation '{}'", name);
    const int lane = find_name(kLaneNames, lane_text);
    const int form = find_name(form_names(info->shape), form_text);
    if (lane < 0 || form < 0) return bad("{} has no lane or form '{}'", name, word);
    Word operands[3] = {};
    const int count = kStripFacts[static_cast<std::size_t>(info->op)].operands;
    for (int i = 0; i < count; ++i) {
      if (!parse_operand(next_word(rest), operands[i])) return bad("{} needs {} streams", name, count);
    }
    const Word code = strip_word(info->op, static_cast<Lane>(lane), form, static_cast<std::uint16_t>(operands[0]),
                                 static_cast<std::uint16_t>(operands[1]), static_cast<std::uint16_t>(operands[2]));
    if (!strip_exists(code)) return bad("{} does not exist in lane {}", name, lane_text);
    phase_words_.push_back(code);
    Word& head = phase_words_[phase_ - 1];
    if ((head >> 16 & 0xffff) == 0xffff) return bad("more than 65535 strip instructions in a phase");
    head += Word{1} << 16;
    return {};
  }

  void finish_instruction() {
    if (!open_) return;
    const std::size_t count = fixed_.size() + dims_.size() + stream_words_.size() + phase_words_.size();
    fixed_[0] = inst_head(opcode_, static_cast<std::uint32_t>(count), static_cast<int>(dims_.size()), streams_) |
                (beside_ ? kBeside : 0);
    for (const std::vector<Word>* part : {&fixed_, &dims_, &stream_words_, &phase_words_}) {
      program_.words.insert(program_.words.end(), part->begin(), part->end());
    }
    dims_.clear();
    stream_words_.clear();
    phase_words_.clear();
    streams_ = 0;
    phase_ = 0;
    open_ = false;
  }

  Program program_;
  // The instruction that is being read.
  bool open_ = false;
  bool beside_ = false;
  Opcode opcode_{};
  std::vector<Word> fixed_, dims_, stream_words_, phase_words_;
  int streams_ = 0;
  std::size_t phase_ = 0;  // position of the current phase in phase_words_, plus 1
};

}  // namespace

Result<Program> assemble(std::string_view text) {
  return Assembler().run(text);
}

}  // namespace tilewright::isa
